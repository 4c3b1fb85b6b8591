package io.weir.sim.connections;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ConnectionLedgerTest {

    private final ConnectionLedger ledger = new ConnectionLedger(2);

    private void holds(String request) {
        ledger.beginWait(request);
        ledger.acquired(request);
    }

    @Test
    void detectsADeadlockWhenItBegins() {
        holds("a");
        holds("b");

        assertThat(ledger.beginWait("a")).isFalse();
        assertThat(ledger.isDeadlocked()).isFalse();
        assertThat(ledger.beginWait("b")).isTrue();
        assertThat(ledger.isDeadlocked()).isTrue();
        assertThat(ledger.deadlockCount()).isEqualTo(1);
    }

    @Test
    void waitingForABusyPoolIsNoDeadlock() {
        holds("a");
        holds("b");

        assertThat(ledger.beginWait("c")).isFalse();
        assertThat(ledger.beginWait("d")).isFalse();
        assertThat(ledger.deadlockCount()).isZero();
    }

    @Test
    void nestedAcquisitionWithASpareConnectionIsNoDeadlock() {
        holds("a");

        assertThat(ledger.beginWait("a")).isFalse();
        ledger.acquired("a");
        assertThat(ledger.beginWait("b")).isFalse();
        assertThat(ledger.deadlockCount()).isZero();
    }

    @Test
    void timeoutReportsWhetherTheRequestWasInADeadlock() {
        holds("a");
        holds("b");
        ledger.beginWait("victim");
        ledger.beginWait("a");
        ledger.beginWait("b");

        assertThat(ledger.timedOut("victim")).isFalse();
        assertThat(ledger.timedOut("a")).isTrue();
        assertThat(ledger.isDeadlocked()).isFalse();
        ledger.released("a");
        assertThat(ledger.timedOut("b")).isTrue();
        ledger.released("b");
        assertThat(ledger.deadlockCount()).isEqualTo(1);
    }

    @Test
    void detectsASecondDeadlock() {
        holds("a");
        holds("b");
        ledger.beginWait("a");
        ledger.beginWait("b");
        ledger.timedOut("a");
        ledger.released("a");
        ledger.acquired("b");
        ledger.released("b");
        ledger.released("b");
        assertThat(ledger.isDeadlocked()).isFalse();
        holds("c");
        holds("d");
        assertThat(ledger.beginWait("c")).isFalse();
        assertThat(ledger.beginWait("d")).isTrue();
        assertThat(ledger.deadlockCount()).isEqualTo(2);
    }

    @Test
    void refusesToReleaseAConnectionThatIsNotHeld() {
        assertThatThrownBy(() -> ledger.released("a")).hasMessage("a: holds no connection (expected: at least one)");
    }
}
