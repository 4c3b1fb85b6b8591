package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RedisScriptTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "READONLY You can't write against a read only replica. script: 5f1e, on @user_script:9. | true",
                "ERR Error running script (call to f_5f1e): @user_script:9: @user_script: 9: -READONLY You can't"
                        + " write against a read only replica. | true",
                "LOADING Redis is loading the dataset in memory | true",
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'. | true",
                "CLUSTERDOWN Hash slot not served | true",
                "NOREPLICAS Not enough good replicas to write. | true",
                "OOM command not allowed when used memory > 'maxmemory'. | false",
                "WRONGTYPE Operation against a key holding the wrong kind of value | false",
                "NOPERM User default has no permissions to access the 'test:READONLY' key | false",
            })
    void tellsTheErrorsOfServersThatCannotCount(String error, boolean isUnfit) {
        RedisCommandExecutionException failure = new RedisCommandExecutionException(error);
        assertThat(RedisScript.isOfUnfitServer(failure)).isEqualTo(isUnfit);
        assertThat(RedisScript.isOfUnfitServer(new CompletionException(failure)))
                .isEqualTo(isUnfit);
    }

    @Test
    void aLostConnectionIsNoAnswerOfAServer() {
        assertThat(RedisScript.isOfUnfitServer(new IllegalStateException("READONLY not connected")))
                .isFalse();
    }
}
