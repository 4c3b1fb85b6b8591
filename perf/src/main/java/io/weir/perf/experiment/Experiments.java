package io.weir.perf.experiment;

import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.PerfRun;
import java.util.Comparator;
import java.util.List;
import org.springframework.beans.BeanUtils;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import org.springframework.util.ClassUtils;

/** {@code perf/run}: all classes of this package with {@link Measures} are its experiments. */
public final class Experiments {

    private Experiments() {}

    static List<Experiment> all() {
        var scanner = new ClassPathScanningCandidateComponentProvider(false);
        scanner.addIncludeFilter(new AnnotationTypeFilter(Measures.class));
        return scanner.findCandidateComponents(Experiments.class.getPackageName()).stream()
                .map(found -> ClassUtils.resolveClassName(String.valueOf(found.getBeanClassName()), null))
                .map(type -> (Experiment) BeanUtils.instantiateClass(type))
                .sorted(Comparator.comparing(Experiment::name))
                .toList();
    }

    public static void main(String[] args) {
        System.exit(PerfRun.run(all(), args));
    }
}
