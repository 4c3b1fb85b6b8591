package io.weir.perf.run;

import java.lang.annotation.Annotation;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * A question that a measurement answers. A class in {@code io.weir.perf.experiment} with the three
 * annotations is an experiment of {@code perf/run}; its claims are in {@code claims.csv}.
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

    /** What is under test. */
    @Target(ElementType.TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface UnderTest {
        /** The number of processes at a time; they share the cores. */
        int processes() default 1;

        /** The default number of cores per process. */
        int cpus() default 4;

        /** Whether the experiment can measure a gateway that runs elsewhere. */
        boolean remote() default false;
    }

    /** The estimated number of steps and the estimated duration, for the progress. */
    public record Estimate(int steps, Duration duration) {}

    public final String name() {
        return annotation(ExperimentName.class).value();
    }

    public final String question() {
        return annotation(Question.class).value();
    }

    final UnderTest underTest() {
        return annotation(UnderTest.class);
    }

    private <A extends Annotation> A annotation(Class<A> type) {
        return Objects.requireNonNull(AnnotationUtils.findAnnotation(getClass(), type), type::getName);
    }

    /** {@code remote}: the gateway runs elsewhere. */
    public abstract Estimate estimate(boolean quick, boolean remote);

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
