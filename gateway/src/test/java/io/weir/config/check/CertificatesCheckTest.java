package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The certificates and keys that a start would read: one line for each that it cannot use. */
class CertificatesCheckTest {

    private static final String NO_BUNDLE = "unknown: no spring.ssl.bundle.jks or spring.ssl.bundle.pem has this name";

    @TempDir
    private static Path directory;

    @BeforeAll
    static void writeFiles() throws Exception {
        write("edge.crt", certificate().getCertificatePEM());
        X509Bundle pair = certificate();
        write("tls.crt", pair.getCertificatePEM());
        write("tls.key", pair.getPrivateKeyPEM());
        write("garbage.pem", "no certificate");
        Files.write(directory.resolve("tls.p12"), store(pair));
    }

    private static byte[] store(X509Bundle pair) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        pair.toKeyStore("changeit".toCharArray()).store(bytes, "changeit".toCharArray());
        return bytes.toByteArray();
    }

    private static X509Bundle certificate() throws Exception {
        return new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .ecp256()
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    private static Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            server.ssl: { certificate: DIR/tls.crt, certificate-private-key: DIR/tls.key }
            server.ssl: { enabled: false, bundle: none }
            server.ssl: { key-store: DIR/tls.p12, key-store-password: changeit }
            management.server.ssl: { key-store: "file:DIR/tls.p12", key-store-password: changeit }
            spring.ssl.bundle.jks.edge: { keystore: { location: DIR/tls.p12, password: changeit } }
            spring.ssl.bundle.pem.edge: { keystore: { certificate: DIR/tls.crt, private-key: DIR/tls.key } }
            spring.ssl.bundle.pem.ca: { truststore: { certificate: DIR/tls.crt } }
            """)
    void acceptsWhatAStartCanUse(String line) throws IOException {
        assertThat(problems(line)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            server.ssl: { certificate: DIR/none.crt, certificate-private-key: DIR/tls.key } \
            | server.ssl.certificate (no such file: DIR/none.crt; expected: certificates in PEM)
            server.ssl: { certificate: DIR/garbage.pem, certificate-private-key: DIR/tls.key } \
            | server.ssl.certificate (DIR/garbage.pem: Missing certificates or unrecognized format; \
            expected: certificates in PEM)
            server.ssl: { certificate: DIR/tls.crt, certificate-private-key: DIR/garbage.pem } \
            | server.ssl.certificate-private-key (DIR/garbage.pem: Missing private key or unrecognized format; \
            expected: a private key in PEM, with its password if it is encrypted)
            server.ssl: { certificate: DIR/edge.crt, certificate-private-key: DIR/tls.key } \
            | server.ssl.certificate (the private key does not match the certificate of CN=127.0.0.1)
            server.ssl: { certificate: DIR/tls.crt } \
            | server.ssl (expected: certificates and keys that can be read: SSL is enabled but no trust material is \
            configured for the default host)
            server.ssl: { client-auth: maybe, certificate: DIR/tls.crt, certificate-private-key: DIR/tls.key } \
            | server.ssl (server.ssl.client-auth: expected NONE, WANT or NEED)
            server.ssl: { client-auth: want } | server.ssl (expected: also bundle, certificate or key-store)
            server.ssl: { certficate: DIR/tls.crt, certificate-private-key: DIR/tls.key } \
            | server.ssl.certficate: DIR/tls.crt (unknown property; did you mean certificate?)
            server.ssl.key-store: DIR/none.p12 \
            | server.ssl.key-store (no such file: DIR/none.p12; expected: a key store with its type and password)
            management.server.ssl: { key-store: DIR/tls.p12, key-store-password: wrong } \
            | management.server.ssl.key-store (wrong password, or damaged; \
            expected: a key store with its type and password)
            spring.ssl.bundle.jks.edge.keystore: { location: DIR/garbage.pem, password: changeit } \
            | spring.ssl.bundle.jks.edge.keystore.location (EOFException; \
            expected: a key store with its type and password)
            spring.ssl.bundle.pem.edge.keystore: { certificate: DIR/edge.crt, private-key: DIR/tls.key } \
            | spring.ssl.bundle.pem.edge.keystore.certificate \
            (the private key does not match the certificate of CN=127.0.0.1)
            spring.ssl.bundle.pem.ca.truststore.certificate: DIR/none.crt \
            | spring.ssl.bundle.pem.ca.truststore.certificate \
            (no such file: DIR/none.crt; expected: certificates in PEM)
            logging.level.io.weir: LOUD | logging.level.io.weir: LOUD \
            (expected: for each logger trace, debug, info, warn, error, fatal or off)
            logging.level: debug | logging.level: debug \
            (expected: for each logger trace, debug, info, warn, error, fatal or off)
            """)
    void statesEachFileThatAStartCannotUse(String line, String problem) throws IOException {
        assertThat(problems(line).lines().map(one -> one.replaceFirst("^gateway.yml:1: ", "")))
                .contains(problem.replace("DIR", directory.toString()));
        assertThat(problems(line).lines()).hasSize(line.contains("certficate") ? 2 : 1);
    }

    @Test
    void statesTheNameOfABundleThatDoesNotExist() throws IOException {
        assertThat(problems("""
                        server.ssl: { bundle: egde, server-name-bundles: [{ server-name: a.example, bundle: shop }] }
                        spring.ssl.bundle.pem.edge.keystore: { certificate: DIR/tls.crt, private-key: DIR/tls.key }
                        """).lines())
                .containsExactly(
                        "gateway.yml:1: server.ssl.bundle: egde (" + NO_BUNDLE + "; did you mean edge?)",
                        "gateway.yml:1: server.ssl.server-name-bundles[0].bundle: shop (" + NO_BUNDLE + ")");
    }

    @Test
    void acceptsLevelsOfTheLog() throws IOException {
        assertThat(problems("logging.level: { a: off, b: Warn, c.d: 'false', '[e.f]': TRACE }"))
                .isEmpty();
    }

    @Test
    void endsAStartAsAMistakeInTheConfiguration() throws IOException {
        Path file = write("gateway.yml", "server.ssl.certificate: none.crt\n");
        String problem = file + ":1: server.ssl.certificate (no such file: none.crt; expected: certificates in PEM)\n";

        assertThat(execute(file.toString())).isEqualTo("1 " + problem + "1 problem in 1 file\n");
        assertThat(execute("--validate", file.toString())).isEqualTo("1 " + problem + "1 problem in 1 file\n");
        assertThat(execute("--validate", "--without-environment", file.toString()))
                .isEqualTo("0 warning: " + problem + file + ": ok (0 backends, 0 routes)\n");
    }

    private static String execute(String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (PrintStream print = new PrintStream(out, true, StandardCharsets.UTF_8)) {
            int code = new CommandLine(Stream.concat(Stream.of(arguments), Stream.of(MalformedConfiguration.MANAGEMENT))
                            .toArray(String[]::new))
                    .execute(print, print)
                    .orElse(-1);
            return code + " " + out.toString(StandardCharsets.UTF_8);
        }
    }

    private static String problems(String yaml) throws IOException {
        Path file = write("gateway.yml", yaml.replace("DIR", directory.toString()));
        return MalformedConfiguration.check(file).lines().replace(file.toString(), "gateway.yml");
    }
}
