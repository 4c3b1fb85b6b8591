package io.weir.sim.faults;

import io.weir.sim.faults.FaultPlan.Ending;
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
 * Does to servlet requests what the board has planned. A request that waits holds its thread, as it would in a servlet
 * that hangs: that is the cascade which a thread-per-request service has to offer.
 */
final class ServletFaults extends OncePerRequestFilter
        implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

    private static final String ENDING = ServletFaults.class.getName() + ".ending";
    private static final String ANSWER = ServletFaults.class.getName() + ".answer";

    private final FaultBoard board;
    private final InFlight inFlight;
    private volatile @Nullable BreakableHttp11Protocol protocol;

    ServletFaults(FaultBoard board, InFlight inFlight) {
        this.board = board;
        this.inFlight = inFlight;
    }

    @Override
    public void customize(TomcatServletWebServerFactory factory) {
        factory.setProtocol(BreakableHttp11Protocol.class.getName());
        factory.addConnectorCustomizers(this::remember);
    }

    private void remember(Connector connector) {
        protocol = (BreakableHttp11Protocol) connector.getProtocolHandler();
    }

    /** An asynchronous answer is complete only after its second dispatch, so that one is looked at too. */
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
        inFlight.began();
        try {
            plan(request, response, chain);
        } finally {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().addListener(new EndOfAsync());
            } else {
                inFlight.ended();
            }
        }
    }

    /** Told once, however the asynchronous answer ends. */
    private final class EndOfAsync implements AsyncListener {

        @Override
        public void onComplete(AsyncEvent event) {
            inFlight.ended();
        }

        @Override
        public void onTimeout(AsyncEvent event) {}

        @Override
        public void onError(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {
            // A second asynchronous round forgets the listeners of the first.
            event.getAsyncContext().addListener(this);
        }
    }

    private void plan(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        FaultPlan plan = board.plan(PathContainer.parsePath(request.getRequestURI()));
        if (plan.waits()) {
            hold(plan);
        }
        CpuBurner.burn(plan.burn());
        switch (plan.ending()) {
            case Ending.Reset _ -> connections().reset(request.getRemoteAddr(), request.getRemotePort());
            case Ending.Status status -> answer(response, status.status());
            case Ending.Truncated _, Ending.Trickled _ -> {
                ContentCachingResponseWrapper answer = new ContentCachingResponseWrapper(response);
                request.setAttribute(ENDING, plan.ending());
                request.setAttribute(ANSWER, answer);
                chain.doFilter(request, answer);
                finish(request);
            }
            case Ending.Work _ -> chain.doFilter(request, response);
        }
    }

    private BreakableHttp11Protocol connections() {
        BreakableHttp11Protocol here = protocol;
        if (here == null) {
            throw new IllegalStateException("a request came before its connector");
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
            throw new IllegalStateException("a fault heals, and never fails", e);
        }
    }

    private static void answer(HttpServletResponse response, int status) throws IOException {
        response.setStatus(status);
        response.setContentType(ErrorBody.CONTENT_TYPE);
        response.getOutputStream().write(ErrorBody.of(status));
    }

    /** Lets the answer out in the way that its fault wants, once all of it is there. */
    private void finish(HttpServletRequest request) throws IOException {
        if (request.isAsyncStarted()
                || !(request.getAttribute(ANSWER) instanceof ContentCachingResponseWrapper answer)
                || !(request.getAttribute(ENDING) instanceof Ending ending)) {
            return;
        }
        request.removeAttribute(ANSWER);
        byte[] body = answer.getContentAsByteArray();
        HttpServletResponse response = (HttpServletResponse) answer.getResponse();
        response.setContentLength(body.length);
        ServletOutputStream out = response.getOutputStream();
        if (ending instanceof Ending.Truncated truncated) {
            out.write(body, 0, truncated.of(body.length));
            response.flushBuffer();
            connections().close(request.getRemoteAddr(), request.getRemotePort());
        } else if (ending instanceof Ending.Trickled trickled) {
            trickle(body, trickled, out);
        }
    }

    private static void trickle(byte[] body, Ending.Trickled trickled, ServletOutputStream out) throws IOException {
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
