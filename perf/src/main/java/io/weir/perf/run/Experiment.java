package io.weir.perf.run;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.List;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * A question that a measurement answers. A class in {@code io.weir.perf.experiment} with {@link
 * ExperimentName} and {@link Question} is an experiment of {@code perf/run}; its claims are in {@code
 * claims.csv}.
 */
public abstract class Experiment {

    /** The name on the command line. The launcher reads it from the source: one line, no line break. */
    @Target(ElementType.TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface ExperimentName {
        String value();
    }

    /**
     * The question, as {@code --list} shows it. The launcher reads it from the source: one line, no line
     * break.
     */
    @Target(ElementType.TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Question {
        String value();
    }

    /** The estimated number of steps and the estimated duration, for the progress. */
    public record Estimate(int steps, Duration duration) {}

    public final String name() {
        ExperimentName name = AnnotationUtils.findAnnotation(getClass(), ExperimentName.class);
        return name == null ? getClass().getSimpleName() : name.value();
    }

    public final String question() {
        Question question = AnnotationUtils.findAnnotation(getClass(), Question.class);
        return question == null ? "" : question.value();
    }

    /** {@code remote}: the gateway runs elsewhere. */
    public abstract Estimate estimate(boolean quick, boolean remote);

    /** The number of processes under test at a time; they share the cores. */
    public int processes() {
        return 1;
    }

    /** The default number of cores per process under test. */
    public int cpus() {
        return 4;
    }

    /** Whether the experiment can measure a gateway that runs elsewhere. */
    public boolean supportsTarget() {
        return false;
    }

    /** For each missing tool, a sentence with the consequence and the command that installs it. */
    public List<String> missingTools() {
        return List.of();
    }

    /** Additional options of the JVMs under test. */
    public List<String> jvmOptions() {
        return List.of();
    }

    /**
     * Measures. All processes that it starts are stopped afterwards.
     *
     * @throws RunFailure if the measurement is not possible
     */
    public abstract void run(ExperimentContext context) throws InterruptedException;
}
