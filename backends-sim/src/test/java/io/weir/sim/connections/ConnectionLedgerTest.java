package io.weir.sim.connections;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ConnectionLedgerTest {

    private final ConnectionLedger ledger = new ConnectionLedger(2);

    private void holds(String request) {
        ledger.waits(request);
        ledger.got(request);
    }

    @Test
    void seesTheDeadlockWhenItCloses() {
        holds("a");
        holds("b");

        assertThat(ledger.waits("a")).isFalse();
        assertThat(ledger.deadlocked()).isFalse();
        assertThat(ledger.waits("b")).isTrue();
        assertThat(ledger.deadlocked()).isTrue();
        assertThat(ledger.deadlocks()).isEqualTo(1);
    }

    @Test
    void waitingForABusyPoolIsNoDeadlock() {
        holds("a");
        holds("b");

        assertThat(ledger.waits("c")).isFalse();
        assertThat(ledger.waits("d")).isFalse();
        assertThat(ledger.deadlocks()).isZero();
    }

    @Test
    void nestedAcquisitionWithAConnectionToSpareIsNoDeadlock() {
        holds("a");

        assertThat(ledger.waits("a")).isFalse();
        ledger.got("a");
        assertThat(ledger.waits("b")).isFalse();
        assertThat(ledger.deadlocks()).isZero();
    }

    @Test
    void whoGivesUpKnowsWhetherItWasCaught() {
        holds("a");
        holds("b");
        ledger.waits("victim");
        ledger.waits("a");
        ledger.waits("b");

        assertThat(ledger.gaveUp("victim")).isFalse();
        assertThat(ledger.gaveUp("a")).isTrue();
        assertThat(ledger.deadlocked()).isFalse();
        ledger.gaveBack("a");
        assertThat(ledger.gaveUp("b")).isTrue();
        ledger.gaveBack("b");
        assertThat(ledger.deadlocks()).isEqualTo(1);
    }

    @Test
    void seesTheNextDeadlockToo() {
        holds("a");
        holds("b");
        ledger.waits("a");
        ledger.waits("b");
        ledger.gaveUp("a");
        ledger.gaveBack("a");
        ledger.got("b");
        ledger.gaveBack("b");
        ledger.gaveBack("b");
        assertThat(ledger.deadlocked()).isFalse();
        holds("c");
        holds("d");
        assertThat(ledger.waits("c")).isFalse();
        assertThat(ledger.waits("d")).isTrue();
        assertThat(ledger.deadlocks()).isEqualTo(2);
    }

    @Test
    void refusesWhatWasNeverHeld() {
        assertThatThrownBy(() -> ledger.gaveBack("a")).hasMessage("gave back what it did not hold");
    }
}
