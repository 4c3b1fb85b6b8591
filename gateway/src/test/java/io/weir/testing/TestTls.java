package io.weir.testing;

import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** TLS of a gateway under test: a certificate of its own, and clients that accept any certificate. */
public final class TestTls {

    private TestTls() {}

    /** The certificate of an authority, in PEM. */
    public static String authority() {
        return certificate().getCertificatePEM();
    }

    private static X509Bundle certificate() {
        try {
            return new CertificateBuilder()
                    .subject("CN=127.0.0.1")
                    .addSanIpAddress("127.0.0.1")
                    .setIsCertificateAuthority(true)
                    .buildSelfSigned();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Writes {@code tls.crt} and {@code tls.key}, as Kubernetes mounts them, and returns the directory. */
    public static Path write(Path directory) throws IOException {
        X509Bundle certificate = certificate();
        Files.writeString(directory.resolve("tls.crt"), certificate.getCertificatePEM());
        Files.writeString(directory.resolve("tls.key"), certificate.getPrivateKeyPEM());
        return directory;
    }

    /** The lines of a gateway's configuration that make it serve TLS on 127.0.0.1. */
    public static String serverLines() {
        X509Bundle certificate = certificate();
        return "server.ssl.bundle: edge\nspring.ssl.bundle.pem.edge.keystore.certificate: |\n"
                + certificate.getCertificatePEM().strip().indent(2)
                + "spring.ssl.bundle.pem.edge.keystore.private-key: |\n"
                + certificate.getPrivateKeyPEM().strip().indent(2);
    }

    /** Connects and shakes hands, with one protocol offered by ALPN: {@code http/1.1} or {@code h2}. */
    public static Socket connect(int port, String protocol) throws IOException {
        return over(new Socket(InetAddress.getLoopbackAddress(), port), protocol);
    }

    /**
     * Shakes hands on a connection.
     *
     * @param name the name that the client asks for (SNI); an address sends none
     * @param protocols offered by ALPN; none: without ALPN
     */
    public static SSLSocket named(Socket connection, String name, String... protocols) throws IOException {
        try {
            SSLContext tls = SSLContext.getInstance("TLS");
            tls.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
            SSLSocket socket =
                    (SSLSocket) tls.getSocketFactory().createSocket(connection, name, connection.getPort(), true);
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setApplicationProtocols(protocols);
            socket.setSSLParameters(parameters);
            socket.startHandshake();
            return socket;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Shakes hands on a connection, with one protocol offered by ALPN. */
    public static Socket over(Socket connection, String protocol) throws IOException {
        SSLSocket socket = named(connection, "127.0.0.1", protocol);
        if (!protocol.equals(socket.getApplicationProtocol())) {
            throw new IOException("negotiated: " + socket.getApplicationProtocol() + " (expected: " + protocol + ")");
        }
        return socket;
    }
}
