package io.weir.probe;

import io.weir.capacity.AgentProperties;
import io.weir.capacity.StatedCapacity;
import io.weir.health.HealthChecks;
import io.weir.instance.Failures;
import io.weir.instance.Instance;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the agent of one instance at intervals, and applies what it says. */
final class AgentCheck extends RepeatedCheck {

    private static final Logger log = LoggerFactory.getLogger(AgentCheck.class);

    private final String backend;
    private final int index;
    private final StatedCapacity capacity;
    private final Sender sender;
    private final HealthChecks verdicts;

    /** Asks an agent. Returns what gives the question up. */
    interface Sender {
        Runnable send(Instance instance, Answer answer);
    }

    /** The end of a question: a line, or none. */
    interface Answer {
        void line(String line);

        void failed(Throwable failure);
    }

    AgentCheck(
            String backend,
            int index,
            Instance instance,
            AgentProperties properties,
            Sender sender,
            HealthChecks verdicts,
            Timing timing) {
        super(instance, timing, properties.interval(), properties.interval());
        this.backend = backend;
        this.index = index;
        this.capacity = instance.capacity();
        this.sender = sender;
        this.verdicts = verdicts;
    }

    @Override
    Runnable ask(Asked question) {
        return sender.send(instance, new Answer() {
            @Override
            public void line(String line) {
                question.ended(() -> heard(line));
            }

            @Override
            public void failed(Throwable failure) {
                question.ended(Failures.isLocal(failure) ? () -> {} : () -> silent(Failures.describe(failure)));
            }
        });
    }

    @Override
    void unanswered(long sentAt) {
        silent("it said nothing within the interval");
    }

    private void heard(String line) {
        if (capacity.agent().isSilent()) {
            log.info("The agent of {} of backend {} answers again", instance.shownAddress(), backend);
        }
        int weight = instance.share();
        capacity.heard(line, now());
        apply(weight);
    }

    private void silent(String why) {
        if (!capacity.agent().isSilent()) {
            log.warn("The agent of {} of backend {} gives no answer: {}", instance.shownAddress(), backend, why);
        }
        int weight = instance.share();
        capacity.notHeard(now());
        apply(weight);
    }

    private void apply(int weightBefore) {
        verdicts.agentSays(index, capacity.agent().outWord(), now());
        if (instance.share() != weightBefore) {
            verdicts.weightChanged(index);
        }
    }
}
