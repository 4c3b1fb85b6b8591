package io.weir.door;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.List;
import java.util.function.Predicate;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;

/** Whether a caller asks for HTML, as a browser does that loads a page (RFC 9110, 12.5.1). */
final class AcceptedHtml {

    private AcceptedHtml() {}

    /** Whether {@code Accept} names HTML, with a higher quality than JSON. A wildcard does not name it. */
    static boolean isPreferred(HttpHeaders request) {
        List<String> accept = request.getAll(HttpHeaderNames.ACCEPT);
        if (accept.isEmpty()) {
            return false;
        }
        try {
            List<MediaType> types = MediaType.parseMediaTypes(accept);
            return quality(types, AcceptedHtml::isHtml) > quality(types, AcceptedHtml::isJson);
        } catch (InvalidMediaTypeException e) {
            return false;
        }
    }

    private static double quality(List<MediaType> types, Predicate<MediaType> isOne) {
        return types.stream()
                .filter(isOne)
                .mapToDouble(MediaType::getQualityValue)
                .max()
                .orElse(0);
    }

    private static boolean isHtml(MediaType type) {
        return type.equalsTypeAndSubtype(MediaType.TEXT_HTML)
                || type.equalsTypeAndSubtype(MediaType.APPLICATION_XHTML_XML);
    }

    private static boolean isJson(MediaType type) {
        return type.equalsTypeAndSubtype(MediaType.APPLICATION_JSON)
                || type.equalsTypeAndSubtype(MediaType.APPLICATION_PROBLEM_JSON);
    }
}
