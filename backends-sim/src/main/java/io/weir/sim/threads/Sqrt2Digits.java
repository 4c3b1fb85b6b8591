package io.weir.sim.threads;

import java.math.BigInteger;

/**
 * Computes the digits of √2 one by one by subtraction (Jarvis). Start with a = 5n and b = 5. While a ≥ b,
 * subtract b from a and add 10 to b. Otherwise append two zeros to a, and insert a 0 before the last digit of
 * b. The digits of b approach those of √n.
 *
 * <p>This is real computing that needs no input and that no compiler can remove. It restarts after
 * {@link #MAX} digits, since each digit costs more than the previous one.
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

    /** The digits so far, without the decimal point. */
    String text() {
        return b.toString().substring(0, digits);
    }
}
