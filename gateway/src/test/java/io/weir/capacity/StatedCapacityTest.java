package io.weir.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.capacity.CapacitySignal.Ignored;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StatedCapacityTest {

    private static final String FIELD = "weir-capacity";
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final AtomicInteger changes = new AtomicInteger();
    private final CapacitySignal signal = new CapacitySignal(changes::incrementAndGet);
    private final StatedCapacity capacity = new StatedCapacity(signal);
    private long now = -3 * SECOND;
    private int inFlight = 1;

    StatedCapacityTest() {
        signal.configure(new CapacitySignalProperties("Weir-Capacity", null));
    }

    private HttpHeaders says(String... values) {
        HttpHeaders fields = new DefaultHttpHeaders().add("via", "1.1 other");
        for (String value : values) {
            fields.add(FIELD, value);
        }
        capacity.read(fields, inFlight, now);
        return fields;
    }

    private void assertIgnored(long notANumber, long zero, long jump) {
        assertThat(signal.ignored(Ignored.NOT_A_NUMBER)).isEqualTo(notANumber);
        assertThat(signal.ignored(Ignored.ZERO)).isEqualTo(zero);
        assertThat(signal.ignored(Ignored.JUMP)).isEqualTo(jump);
    }

    @Test
    void countsForTenSecondsFromItsLastRepetition() {
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
        says("30");
        now += 9 * SECOND;
        says("30");
        now += 10 * SECOND - 1;
        assertThat(capacity.calls(now)).isEqualTo(30);
        now++;
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
        assertThat(changes).hasValue(1);

        says("30");
        assertThat(capacity.calls(now)).isEqualTo(30);
        assertThat(changes).hasValue(2);
        assertIgnored(0, 0, 0);
    }

    @Test
    void announcesOnlyAnotherNumber() {
        says("30");
        says("30");
        says("31");
        says("31");
        assertThat(changes).hasValue(2);
        assertThat(capacity.calls(now)).isEqualTo(31);
    }

    @Test
    void takesItsFieldFromTheAnswerAndLeavesTheOthers() {
        assertThat(says("30").names()).containsExactly("via");
        assertThat(says("thirty").names()).containsExactly("via");
        assertThat(says().names()).containsExactly("via");
    }

    @Test
    void readsNothingWhileTheSignalIsOff() {
        says("30");
        signal.configure(null);
        assertThat(says("40").get(FIELD)).isEqualTo("40");
        assertThat(capacity.calls(now)).isEqualTo(30);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "+1", "1.5", "1e3", "30;q=1", "30, 40", "1000001", "99999999999999999999", "٣"})
    void ignoresWhatIsNoWholeNumber(String text) {
        says("30");
        says(text);
        assertThat(capacity.calls(now)).isEqualTo(30);
        assertIgnored(1, 0, 0);
    }

    @Test
    void ignoresSeveralFields() {
        says("30", "30");
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
        assertIgnored(1, 0, 0);
    }

    @Test
    void ignoresAJumpByAHundredUntilTheNumberBeforeItHasNotBeenStatedForTenSeconds() {
        says("10");
        says("1000");
        assertThat(capacity.calls(now)).isEqualTo(10);
        says("999");
        says("9");
        assertThat(capacity.calls(now)).isEqualTo(999);
        assertIgnored(0, 0, 2);

        now += 10 * SECOND;
        says("9");
        assertThat(capacity.calls(now)).isEqualTo(9);
        assertIgnored(0, 0, 2);
    }

    @Test
    void believesZeroForTenSecondsAndNoLonger() {
        for (int second = 0; second < 10; second++) {
            says("0");
            assertThat(capacity.calls(now)).isZero();
            now += SECOND;
        }
        for (int second = 0; second < 30; second++) {
            says("0");
            assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
            now += SECOND;
        }
        assertIgnored(0, 30, 0);

        says("500");
        assertThat(capacity.calls(now)).isEqualTo(500);
        says("0");
        assertThat(capacity.calls(now)).isZero();
    }

    @Test
    void lowersByAUtilisationAboveOne() {
        inFlight = 60;
        says("TEXT application_utilization=1.2");
        assertThat(capacity.calls(now)).isEqualTo(50);
        assertThat(capacity.part(80, now)).isEqualTo(50);
        assertThat(capacity.part(50, now)).isEqualTo(StatedCapacity.NONE);

        inFlight = 50;
        says("JSON {\"application_utilization\": 1.25}");
        assertThat(capacity.calls(now)).isEqualTo(40);
        assertThat(changes).hasValue(2);
        assertIgnored(0, 0, 0);
    }

    @Test
    void permitsGrowthByAUtilisationBelowOneButNoLongerThanTenSecondsFromTheLastAboveOne() {
        inFlight = 60;
        says("TEXT cpu_utilization=1.2");
        now += 9 * SECOND;
        inFlight = 50;
        says("TEXT cpu_utilization=0.8");
        assertThat(capacity.calls(now)).isEqualTo(62);
        inFlight = 2;
        says("TEXT cpu_utilization=0.9");
        assertThat(capacity.calls(now)).isEqualTo(62);
        now += SECOND;
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"TEXT cpu_utilization=0.9", "TEXT cpu_utilization=1", "TEXT rps_fractional=70", "JSON {}"})
    void leavesTheLearntLimitWithoutAUtilisationAboveOne(String report) {
        inFlight = 60;
        assertThat(says(report).names()).containsExactly("via");
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
        assertIgnored(0, 0, 0);
    }

    @Test
    void takesNothingFromAUtilisationWhileNoCallIsInFlight() {
        inFlight = 0;
        says("TEXT cpu_utilization=1.5");
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
        inFlight = 1;
        says("TEXT cpu_utilization=1.5");
        assertThat(capacity.calls(now)).isEqualTo(1);
    }

    @Test
    void ignoresReportsThatAreNonsense() {
        inFlight = 60;
        says("TEXT cpu_utilization=high");
        says("TEXT cpu_utilization=100");
        says("JSON {\"cpu_utilization\": 1.2}", "JSON {\"cpu_utilization\": 1.2}");
        says("BIN CAE=");
        assertThat(capacity.calls(now)).isEqualTo(StatedCapacity.NONE);
        assertIgnored(3, 0, 1);
    }
}
