package io.weir.sim.faults;

import io.weir.sim.faults.FaultsControl.Answer;
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
 * Serves {@code /faults} on the management port of Tomcat. Named in the imports of the management context, and no
 * {@code @Configuration}, which the scan would take for the service's.
 */
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
class TomcatFaultsEndpoint {

    @Bean
    ServletRegistrationBean<FaultsServlet> faultsServlet(FaultsControl control) {
        return new ServletRegistrationBean<>(new FaultsServlet(control), FaultsControl.PATH);
    }

    /** The thin adapter. */
    static final class FaultsServlet extends HttpServlet {

        private static final long serialVersionUID = 1L;

        private final transient FaultsControl control;

        private FaultsServlet(FaultsControl control) {
            this.control = control;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] body = request.getInputStream().readNBytes(FaultsControl.DOCUMENT_MAX_BYTES + 1);
            Answer answer = control.handle(request.getMethod(), InetAddress.ofLiteral(request.getRemoteAddr()), body);
            response.setStatus(answer.status().value());
            response.setContentType(answer.contentType());
            if (answer.status() == HttpStatus.METHOD_NOT_ALLOWED) {
                response.setHeader(HttpHeaders.ALLOW, Answer.ALLOW);
            }
            response.getOutputStream().write(answer.body().getBytes(StandardCharsets.UTF_8));
        }
    }
}
