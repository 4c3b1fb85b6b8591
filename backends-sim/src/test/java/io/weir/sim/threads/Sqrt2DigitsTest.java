package io.weir.sim.threads;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import org.junit.jupiter.api.Test;

class Sqrt2DigitsTest {

    @Test
    void computesTheDigitsOfTheSquareRootOfTwo() {
        Sqrt2Digits sqrt2 = new Sqrt2Digits();
        for (int i = 0; i < 500; i++) {
            sqrt2.next();
        }

        // Compares with an independent method: the integer root of 2 followed by 998 zeros.
        String expected =
                BigInteger.TWO.multiply(BigInteger.TEN.pow(998)).sqrt().toString();
        assertThat(sqrt2.text()).isEqualTo(expected).startsWith("14142135623730950488");
    }

    @Test
    void restartsAfterTheMaximumNumberOfDigits() {
        Sqrt2Digits sqrt2 = new Sqrt2Digits();
        for (int i = 0; i < Sqrt2Digits.MAX + 3; i++) {
            sqrt2.next();
        }

        assertThat(sqrt2.text()).isEqualTo("141");
    }
}
