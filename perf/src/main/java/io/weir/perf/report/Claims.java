package io.weir.perf.report;

import io.weir.perf.result.Claim;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** Compares the claims about a run with its figures. */
final class Claims {

    enum Agreement {
        YES,
        NO,
        NOT_MEASURED,
        /** The figure is as claimed, but the run misses a line of the {@link Checklist}. */
        NOT_ASSERTED;

        String text() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /**
     * A line of the table. The reference is the claimed number, or the figure that the claim names; the
     * reason is empty if the claim agrees.
     */
    record ComparedClaim(
            Claim claim, OptionalDouble reference, OptionalDouble measured, Agreement agreement, String reason) {

        String name() {
            return claim.name();
        }
    }

    private Claims() {}

    /**
     * Compares all claims about a run's experiment: those that the run recorded when it began. If it recorded
     * none, those in the jar; its checklist misses a line then.
     */
    static List<ComparedClaim> compare(RunResult run, RunFigures figures, Checklist checklist) {
        List<Claim> claims = run.claims().isEmpty() ? Claim.shipped(run.property("experiment")) : run.claims();
        RunEvidence evidence = new RunEvidence(run, figures);
        return claims.stream()
                .map(claim -> compare(claim, figures, evidence, checklist.missed()))
                .toList();
    }

    private static ComparedClaim compare(Claim claim, RunFigures figures, RunEvidence evidence, List<String> missed) {
        OptionalDouble measured = figures.get(claim.name());
        OptionalDouble reference = claim.reference(figures);
        if (measured.isEmpty() || reference.isEmpty()) {
            return new ComparedClaim(claim, reference, measured, Agreement.NOT_MEASURED, evidence.of(claim.name()));
        }
        if (!claim.agrees(measured.getAsDouble(), reference.getAsDouble())) {
            return new ComparedClaim(claim, reference, measured, Agreement.NO, evidence.of(claim.name()));
        }
        Agreement agreement = missed.isEmpty() ? Agreement.YES : Agreement.NOT_ASSERTED;
        String reason = missed.isEmpty() ? "" : "the checklist misses: " + String.join("; ", missed);
        return new ComparedClaim(claim, reference, measured, agreement, reason);
    }
}
