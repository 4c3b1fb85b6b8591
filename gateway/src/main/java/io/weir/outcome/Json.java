package io.weir.outcome;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;

/** Escapes text for JSON strings (RFC 8259, section 7). */
public final class Json {

    private static final char[] HEX = "0123456789abcdef".toCharArray();

    /** The length of an escaped control character: a backslash, u and four digits. */
    private static final int CONTROL_ESCAPE_LENGTH = 6;

    private Json() {}

    /** The number of bytes that {@link #writeEscaped} appends. */
    public static int escapedLength(CharSequence text) {
        int length = ByteBufUtil.utf8Bytes(text);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                length++;
            } else if (c < 0x20) {
                length += CONTROL_ESCAPE_LENGTH - 1;
            }
        }
        return length;
    }

    /** Appends the escaped text, without surrounding quotes. */
    public static void writeEscaped(ByteBuf out, CharSequence text) {
        int plainFrom = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= 0x20 && c != '"' && c != '\\') {
                continue;
            }
            ByteBufUtil.writeUtf8(out, text, plainFrom, i);
            plainFrom = i + 1;
            out.writeByte('\\');
            if (c == '"' || c == '\\') {
                out.writeByte(c);
            } else {
                ByteBufUtil.writeAscii(out, "u00");
                out.writeByte(HEX[c >> 4]);
                out.writeByte(HEX[c & 0xf]);
            }
        }
        ByteBufUtil.writeUtf8(out, text, plainFrom, text.length());
    }
}
