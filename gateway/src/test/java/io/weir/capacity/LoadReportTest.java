package io.weir.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LoadReportTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "TEXT cpu_utilization=0.3                                                   | 0.3",
                "TEXT cpu_utilization=0.3,application_utilization=0.8,rps_fractional=10     | 0.8",
                "TEXT application_utilization:1.25, cpu_utilization:0.9                     | 1.25",
                "TEXT cpu_utilization=0.3, application_utilization=0                        | 0.3",
                "JSON {\"cpu_utilization\": 0.3}                                            | 0.3",
                "JSON {\"application_utilization\":2,\"cpu_utilization\":0.3}               | 2",
                "JSON {\"cpuUtilization\":0.3,\"applicationUtilization\":0.7}               | 0.7",
                "JSON {\"named_metrics\":{\"cpu_utilization\":9},\"cpu_utilization\":0.4}   | 0.4",
                "JSON {\"named_metrics\":{\"a\":[1,{\"b\":2}]},\"cpu_utilization\":1e-1}    | 0.1"
            })
    void hasTheUtilisationOfTheApplicationOrElseOfTheProcessor(String text, double utilisation) {
        assertThat(LoadReport.isOne(text)).isTrue();
        assertThat(LoadReport.utilisation(text)).isEqualTo(utilisation);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "TEXT rps_fractional=10",
                "TEXT named_metrics.queue=4",
                "JSON {}",
                "JSON {\"mem_utilization\":0.3}"
            })
    void isUnknownInAReportOfOtherFigures(String text) {
        assertThat(LoadReport.utilisation(text)).isEqualTo(LoadReport.UNKNOWN);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "TEXT ",
                "TEXT cpu_utilization",
                "TEXT cpu_utilization=",
                "TEXT cpu_utilization=high",
                "TEXT cpu_utilization=-1",
                "TEXT cpu_utilization=NaN",
                "TEXT cpu_utilization=Infinity",
                "TEXT cpu_utilization=0.3,,",
                "JSON ",
                "JSON 0.3",
                "JSON [0.3]",
                "JSON {\"cpu_utilization\":0.3",
                "JSON {\"cpu_utilization\":0.3,}",
                "JSON {\"cpu_utilization\":-0.3}",
                "JSON cpu_utilization=0.3"
            })
    void isMalformed(String text) {
        assertThat(LoadReport.utilisation(text)).isEqualTo(LoadReport.MALFORMED);
    }

    @Test
    void isNoNumber() {
        assertThat(LoadReport.isOne("30")).isFalse();
        assertThat(LoadReport.isOne("text cpu_utilization=0.3")).isFalse();
        assertThat(LoadReport.isOne("BIN CAE=")).isFalse();
    }
}
