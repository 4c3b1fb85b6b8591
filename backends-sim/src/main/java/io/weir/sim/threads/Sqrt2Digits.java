package io.weir.sim.threads;

import java.math.BigInteger;

/**
 * The digits of √2, one after the other, by subtraction (Jarvis): a = 5n and b = 5; while a ≥ b, take b from a and add 10
 * to b; otherwise shift a by two digits, and put a 0 before b's last digit. The digits of b come to be those of √n.
 *
 * <p>Real computing that no compiler can leave out and that needs no input. It starts again after {@link #MAX} digits,
 * since each digit costs more than the one before it.
 */
final class Sqrt2Digits {

    static final int MAX = 1_000;

    private static final BigInteger FIVE = BigInteger.valueOf(5);
    private static final BigInteger HUNDRED = BigInteger.valueOf(100);

    private BigInteger a = BigInteger.TEN;
    private BigInteger b = FIVE;
    private int digits;

    /** Computes one more digit. */
    void next() {
        if (digits == MAX) {
            a = BigInteger.TEN;
            b = FIVE;
            digits = 0;
        }
        while (a.compareTo(b) >= 0) {
            a = a.subtract(b);
            b = b.add(BigInteger.TEN);
        }
        a = a.multiply(HUNDRED);
        b = b.divide(BigInteger.TEN).multiply(HUNDRED).add(FIVE);
        digits++;
    }

    /** The digits so far, without the point. */
    String text() {
        return b.toString().substring(0, digits);
    }
}
