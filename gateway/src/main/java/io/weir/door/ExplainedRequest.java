package io.weir.door;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.cookie.ServerCookieDecoder;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpCookie;
import org.springframework.http.HttpMethod;
import org.springframework.http.codec.ServerCodecConfigurer;
import org.springframework.http.server.reactive.AbstractServerHttpRequest;
import org.springframework.http.server.reactive.AbstractServerHttpResponse;
import org.springframework.http.server.reactive.SslInfo;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.adapter.DefaultServerWebExchange;
import org.springframework.web.server.i18n.AcceptHeaderLocaleContextResolver;
import org.springframework.web.server.i18n.LocaleContextResolver;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A request without a connection, as Spring's predicates read it. A predicate that asks for the caller's
 * address, its certificate or the body gets an {@link IllegalStateException}: these facts are not known.
 */
final class ExplainedRequest extends AbstractServerHttpRequest {

    private static final ServerCodecConfigurer CODECS = ServerCodecConfigurer.create();
    private static final LocaleContextResolver LOCALES = new AcceptHeaderLocaleContextResolver();

    private final HttpHeaders fields;

    ExplainedRequest(String method, URI uri, HttpHeaders fields) {
        super(HttpMethod.valueOf(method), uri, null, spring(fields));
        this.fields = fields;
    }

    private static org.springframework.http.HttpHeaders spring(HttpHeaders fields) {
        org.springframework.http.HttpHeaders copy = new org.springframework.http.HttpHeaders();
        for (Map.Entry<String, String> field : fields) {
            copy.add(field.getKey(), field.getValue());
        }
        return copy;
    }

    /** The request in an exchange of its own, whose response goes nowhere. */
    ServerWebExchange exchange() {
        return new DefaultServerWebExchange(
                this, new NoResponse(), exchange -> Mono.error(unknown("session")), CODECS, LOCALES);
    }

    private static IllegalStateException unknown(String fact) {
        return new IllegalStateException(fact + ": unknown (expected: a request of a caller)");
    }

    @Override
    protected MultiValueMap<String, HttpCookie> initCookies() {
        MultiValueMap<String, HttpCookie> cookies = new LinkedMultiValueMap<>();
        for (String field : fields.getAll(HttpHeaderNames.COOKIE)) {
            ServerCookieDecoder.STRICT
                    .decodeAll(field)
                    .forEach(cookie -> cookies.add(cookie.name(), new HttpCookie(cookie.name(), cookie.value())));
        }
        return cookies;
    }

    @Override
    public InetSocketAddress getRemoteAddress() {
        throw unknown("remote address");
    }

    @Override
    public InetSocketAddress getLocalAddress() {
        throw unknown("local address");
    }

    @Override
    protected @Nullable SslInfo initSslInfo() {
        throw unknown("certificate");
    }

    @Override
    public Flux<DataBuffer> getBody() {
        return Flux.error(unknown("body"));
    }

    /** This request: there is none below it. */
    @Override
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // Spring's signature.
    public <T> T getNativeRequest() {
        return (T) this;
    }

    /** Predicates do not write. */
    private static final class NoResponse extends AbstractServerHttpResponse {

        NoResponse() {
            super(DefaultDataBufferFactory.sharedInstance);
        }

        @Override
        @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // Spring's signature.
        public <T> T getNativeResponse() {
            return (T) this;
        }

        @Override
        protected Mono<Void> writeWithInternal(Publisher<? extends DataBuffer> body) {
            return Mono.error(unknown("response"));
        }

        @Override
        protected Mono<Void> writeAndFlushWithInternal(Publisher<? extends Publisher<? extends DataBuffer>> body) {
            return Mono.error(unknown("response"));
        }

        @Override
        protected void applyStatusCode() {
            // Nothing is sent.
        }

        @Override
        protected void applyHeaders() {
            // Nothing is sent.
        }

        @Override
        protected void applyCookies() {
            // Nothing is sent.
        }
    }
}
