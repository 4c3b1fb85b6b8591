package io.weir.sim.faults;

import io.weir.sim.faults.FaultPlan.ResponseFault;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.catalina.connector.Connector;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.http.server.PathContainer;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.util.ContentCachingResponseWrapper;

/**
 * Applies the registry's plans to servlet requests. A waiting request holds its thread, as a hanging servlet
 * would. So threads run out as in every thread-per-request service.
 */
final class ServletFaults extends OncePerRequestFilter
        implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

    private static final String RESPONSE_FAULT = ServletFaults.class.getName() + ".responseFault";
    private static final String ANSWER = ServletFaults.class.getName() + ".answer";

    private final FaultRegistry registry;
    private final InFlightRequests inFlight;
    private volatile @Nullable BreakableHttp11Protocol protocol;

    ServletFaults(FaultRegistry registry, InFlightRequests inFlight) {
        this.registry = registry;
        this.inFlight = inFlight;
    }

    @Override
    public void customize(TomcatServletWebServerFactory factory) {
        factory.setProtocol(BreakableHttp11Protocol.class.getName());
        factory.addConnectorCustomizers(this::captureProtocol);
    }

    private void captureProtocol(Connector connector) {
        protocol = (BreakableHttp11Protocol) connector.getProtocolHandler();
    }

    /** An asynchronous answer completes only in its second dispatch, so the filter handles that one too. */
    @Override
    protected boolean shouldNotFilterAsyncDispatch() {
        return false;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (isAsyncDispatch(request)) {
            chain.doFilter(request, response);
            finish(request);
            return;
        }
        inFlight.requestStarted();
        try {
            applyPlan(request, response, chain);
        } finally {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().addListener(new AsyncEndListener());
            } else {
                inFlight.requestEnded();
            }
        }
    }

    /** Counts the end of an asynchronous request exactly once. */
    private final class AsyncEndListener implements AsyncListener {

        @Override
        public void onComplete(AsyncEvent event) {
            inFlight.requestEnded();
        }

        @Override
        public void onTimeout(AsyncEvent event) {}

        @Override
        public void onError(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {
            // A second asynchronous start drops the listeners of the first.
            event.getAsyncContext().addListener(this);
        }
    }

    private void applyPlan(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        FaultPlan plan = registry.plan(PathContainer.parsePath(request.getRequestURI()));
        if (plan.waits()) {
            hold(plan);
        }
        CpuBurner.burn(plan.burn());
        switch (plan.responseFault()) {
            case ResponseFault.ConnectionReset _ ->
                connections().reset(request.getRemoteAddr(), request.getRemotePort());
            case ResponseFault.ErrorStatus status -> answerStatus(response, status.status());
            case ResponseFault.TruncatedBody _, ResponseFault.TrickledBody _ -> {
                ContentCachingResponseWrapper answer = new ContentCachingResponseWrapper(response);
                request.setAttribute(RESPONSE_FAULT, plan.responseFault());
                request.setAttribute(ANSWER, answer);
                chain.doFilter(request, answer);
                finish(request);
            }
            case ResponseFault.None _ -> chain.doFilter(request, response);
        }
    }

    private BreakableHttp11Protocol connections() {
        BreakableHttp11Protocol here = protocol;
        if (here == null) {
            throw new IllegalStateException("protocol: null (expected: set when the connector was customized)");
        }
        return here;
    }

    private static void hold(FaultPlan plan) throws IOException {
        try {
            for (CompletableFuture<Void> healed : plan.holds()) {
                healed.get();
            }
            Thread.sleep(plan.delay());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("interrupted while held by a fault").initCause(e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a hang failed (expected: completed by its healing)", e);
        }
    }

    private static void answerStatus(HttpServletResponse response, int status) throws IOException {
        response.setStatus(status);
        response.setContentType(ErrorBody.CONTENT_TYPE);
        response.getOutputStream().write(ErrorBody.of(status));
    }

    /** Sends the buffered answer as its fault demands, once the answer is complete. */
    private void finish(HttpServletRequest request) throws IOException {
        if (request.isAsyncStarted()
                || !(request.getAttribute(ANSWER) instanceof ContentCachingResponseWrapper answer)
                || !(request.getAttribute(RESPONSE_FAULT) instanceof ResponseFault responseFault)) {
            return;
        }
        request.removeAttribute(ANSWER);
        byte[] body = answer.getContentAsByteArray();
        HttpServletResponse response = (HttpServletResponse) answer.getResponse();
        response.setContentLength(body.length);
        ServletOutputStream out = response.getOutputStream();
        if (responseFault instanceof ResponseFault.TruncatedBody truncated) {
            out.write(body, 0, truncated.lengthOf(body.length));
            response.flushBuffer();
            connections().close(request.getRemoteAddr(), request.getRemotePort());
        } else if (responseFault instanceof ResponseFault.TrickledBody trickled) {
            trickle(body, trickled, out);
        }
    }

    private static void trickle(byte[] body, ResponseFault.TrickledBody trickled, ServletOutputStream out)
            throws IOException {
        try {
            for (int sent = 0; sent < body.length; sent += trickled.bytes()) {
                if (sent > 0) {
                    Thread.sleep(trickled.interval());
                }
                out.write(Arrays.copyOfRange(body, sent, Math.min(sent + trickled.bytes(), body.length)));
                out.flush();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("interrupted while trickling").initCause(e);
        }
    }
}
