package io.weir.sim.faults;

import io.weir.sim.faults.FaultsRequestHandler.FaultsAnswer;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;

/**
 * Serves {@code /faults} on Tomcat's management port. The imports file of the management context names this
 * class. It is no {@code @Configuration}: the component scan would add it to the service's context.
 */
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
class TomcatFaultsEndpoint {

    @Bean
    ServletRegistrationBean<FaultsServlet> faultsServlet(FaultsRequestHandler control) {
        return new ServletRegistrationBean<>(new FaultsServlet(control), FaultsRequestHandler.PATH);
    }

    /** Converts between the servlet API and {@link FaultsRequestHandler}. */
    static final class FaultsServlet extends HttpServlet {

        private static final long serialVersionUID = 1L;

        private final transient FaultsRequestHandler control;

        private FaultsServlet(FaultsRequestHandler control) {
            this.control = control;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] body = request.getInputStream().readNBytes(FaultsRequestHandler.DOCUMENT_MAX_BYTES + 1);
            FaultsAnswer answer =
                    control.handle(request.getMethod(), InetAddress.ofLiteral(request.getRemoteAddr()), body);
            response.setStatus(answer.status().value());
            response.setContentType(answer.contentType());
            if (answer.status() == HttpStatus.METHOD_NOT_ALLOWED) {
                response.setHeader(HttpHeaders.ALLOW, FaultsAnswer.ALLOW);
            }
            response.getOutputStream().write(answer.body().getBytes(StandardCharsets.UTF_8));
        }
    }
}
