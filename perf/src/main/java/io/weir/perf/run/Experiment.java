package io.weir.perf.run;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * A question that a measurement answers. A class in {@code io.weir.perf.experiment} with {@link Measures} is
 * an experiment of {@code perf/run}; its claims are in {@code claims.csv}.
 */
public abstract class Experiment {

    /** The launcher reads name and question from the source: each is one line. */
    @Target(ElementType.TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Measures {
        String name();

        /** The question, as {@code --list} shows it. */
        String question();

        /** The estimated minutes of a quick run, for the progress. */
        int quickMinutes();

        /** The estimated minutes of a full run, for the progress. */
        int fullMinutes();

        /** The number of processes under test at a time; they share the cores. */
        int processes() default 1;

        /** The default number of cores per process. */
        int cpus() default 4;

        /** Whether the experiment can measure a gateway that runs elsewhere. */
        boolean remote() default false;
    }

    final Measures measures() {
        return Objects.requireNonNull(AnnotationUtils.findAnnotation(getClass(), Measures.class));
    }

    public final String name() {
        return measures().name();
    }

    final Duration estimate(boolean quick) {
        return Duration.ofMinutes(quick ? measures().quickMinutes() : measures().fullMinutes());
    }

    /** For each missing tool, a sentence with the consequence and the command that installs it. */
    public List<String> missingTools() {
        return List.of();
    }

    /** Additional options of the JVMs under test and of the load generators. */
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
