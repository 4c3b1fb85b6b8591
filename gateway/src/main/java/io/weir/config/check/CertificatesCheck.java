package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.TlsMaterial.Finding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.UnrecoverableKeyException;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.ssl.JksSslBundleProperties;
import org.springframework.boot.autoconfigure.ssl.PemSslBundleProperties;
import org.springframework.boot.autoconfigure.ssl.PropertiesSslBundle;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.io.ApplicationResourceLoader;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.pem.PemContent;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerSslBundle;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.env.Environment;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;

/**
 * Reads the certificates and keys that a start reads, and checks the names of the servers' SSL bundles.
 *
 * <p>Only before a start and with {@code --validate}: while the gateway runs, its watch decides about new
 * files, and a rotation that is half done must not refuse a reload.
 */
final class CertificatesCheck {

    private static final String BUNDLES = "spring.ssl.bundle.";
    private static final String BUNDLE = "bundle";
    private static final Set<String> MATERIAL = Set.of("certificate", "keystore", "keystoretype");
    private static final List<String> SERVERS = List.of("server.ssl", "management.server.ssl");
    private static final String CERTIFICATES = "certificates in PEM";
    private static final String PRIVATE_KEY = "a private key in PEM, with its password if it is encrypted";
    private static final String STORE = "a key store with its type and password";

    /** The properties that name a file, in uniform spelling, and what the file must contain. */
    private static final Map<String, String> CONTENTS = Map.of(
            "certificate", CERTIFICATES,
            "trustcertificate", CERTIFICATES,
            "privatekey", PRIVATE_KEY,
            "certificateprivatekey", PRIVATE_KEY,
            "trustcertificateprivatekey", PRIVATE_KEY,
            "location", STORE,
            "keystore", STORE,
            "truststore", STORE);

    private final Environment environment;
    private final RawTree root;
    private final Consumer<ConfigurationProblem> problems;
    private final ResourceLoader loader = ApplicationResourceLoader.get();

    CertificatesCheck(Environment environment, RawTree root, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.root = root;
        this.problems = problems;
    }

    void check() {
        bundles("pem")
                .forEach(node ->
                        check(node, () -> PropertiesSslBundle.get(bound(node, PemSslBundleProperties.class), loader)));
        bundles("jks")
                .forEach(node ->
                        check(node, () -> PropertiesSslBundle.get(bound(node, JksSslBundleProperties.class), loader)));
        SERVERS.stream()
                .flatMap(server -> RawTree.at(root, server).stream().limit(1))
                .filter(server -> !settings(server, Set.of("enabled")).stream()
                        .anyMatch(enabled -> text(enabled).equalsIgnoreCase("false")))
                .forEach(this::checkServer);
    }

    private Stream<RawTree> bundles(String kind) {
        return RawTree.at(root, BUNDLES + kind).stream().flatMap(RawTree::children);
    }

    private void checkServer(RawTree server) {
        // An extension may register bundles of its own.
        if (ExtensionJars.installed().isEmpty()) {
            settings(server, Set.of(BUNDLE)).forEach(this::checkName);
        }
        if (RawTree.find(List.of(server), BUNDLE).isEmpty()) {
            if (settings(server, MATERIAL).isEmpty()) {
                problems.accept(server.expected("also bundle, certificate or key-store"));
                return;
            }
            check(server, () -> WebServerSslBundle.get(bound(server, Ssl.class)));
        }
    }

    private void checkName(Setting setting) {
        List<String> names = Stream.of("pem", "jks")
                .flatMap(this::bundles)
                .map(RawTree::name)
                .toList();
        if (!isUnresolved(setting) && !names.contains(text(setting))) {
            problems.accept(setting.problem(
                    setting.text(), BackendsCheck.UNKNOWN_BUNDLE, PropertyNames.nearest(text(setting), names)));
        }
    }

    private void check(RawTree node, Supplier<SslBundle> reader) {
        List<Setting> files = settings(node, CONTENTS.keySet());
        if (node.allSettings().anyMatch(this::isUnresolved) || reportUnusable(files)) {
            return;
        }
        try {
            SslBundle bundle = reader.get();
            if (load(bundle.getStores()::getKeyStore, files, false)
                    && load(bundle.getStores()::getTrustStore, files, true)) {
                List<Finding> fatal = TlsMaterial.of(bundle).findings(Instant.now()).stream()
                        .filter(Finding::isFatal)
                        .toList();
                if (!fatal.isEmpty()) {
                    report(files.getFirst(), TlsMaterial.text(fatal));
                }
            }
        } catch (BindException e) {
            problems.accept(node.problem(SpringErrorText.of(e)));
        } catch (RuntimeException e) {
            if (files.size() == 1
                    && STORE.equals(CONTENTS.get(lastElement(files.getFirst().path())))) {
                report(files.getFirst(), cause(e) + "; expected: " + STORE);
                return;
            }
            problems.accept(node.expected("certificates and keys that can be read: " + cause(e)));
        }
    }

    /** Reports each unusable file, not only the first one. Returns whether there is one. */
    private boolean reportUnusable(List<Setting> files) {
        boolean anyUnusable = false;
        for (Setting file : files) {
            anyUnusable |= reportIfUnusable(file);
        }
        return anyUnusable;
    }

    /** Reports a file that is missing or no PEM as its property needs it. Returns whether it is one. */
    private boolean reportIfUnusable(Setting file) {
        String where = text(file);
        String expected = "; expected: " + CONTENTS.get(lastElement(file.path()));
        if (PemContent.isPresentInText(where)) {
            return reportIfOtherPem(file, where, "", expected);
        }
        Resource resource = loader.getResource(where);
        if (!resource.exists()) {
            return report(file, ConfigurationProblem.NO_SUCH_FILE + where + expected);
        }
        try {
            byte[] content = resource.getContentAsByteArray();
            return reportIfOtherPem(file, new String(content, StandardCharsets.ISO_8859_1), where + ": ", expected);
        } catch (IOException e) {
            return report(file, "not readable: " + where + expected);
        }
    }

    private boolean reportIfOtherPem(Setting file, String content, String where, String expected) {
        try {
            PemContent pem = PemContent.of(content);
            if (expected.endsWith(CERTIFICATES)) {
                pem.getCertificates();
            } else if (expected.endsWith(PRIVATE_KEY)) {
                pem.getPrivateKey(environment.getProperty(file.path() + "-password"));
            }
            return false;
        } catch (RuntimeException e) {
            return report(file, where + cause(e) + expected);
        }
    }

    /** Reads a store, if there is one, and reports the failure. Returns whether there was none. */
    private boolean load(Supplier<@Nullable KeyStore> store, List<Setting> files, boolean isTrust) {
        try {
            var _ = store.get();
            return true;
        } catch (RuntimeException e) {
            Setting file = files.stream()
                    .filter(one -> PropertyNames.uniform(one.path()).contains("trust") == isTrust)
                    .findFirst()
                    .orElse(null);
            if (file == null) {
                throw e;
            }
            return !report(file, cause(e) + "; expected: " + CONTENTS.get(lastElement(file.path())));
        }
    }

    private boolean report(Setting setting, String why) {
        problems.accept(setting.problem(null, why));
        return true;
    }

    private static String cause(RuntimeException failure) {
        Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
        if (root instanceof UnrecoverableKeyException) {
            // Its message is about what the bytes happened to be after they were decrypted.
            return "wrong password, or damaged";
        }
        return root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
    }

    /** The settings in force of the properties with these names, below a node. */
    private static List<Setting> settings(RawTree node, Set<String> names) {
        Map<String, Setting> settings = new TreeMap<>();
        node.leaves()
                .flatMap(leaf -> leaf.settings().stream())
                .filter(setting -> names.contains(lastElement(setting.path())))
                .forEach(setting -> settings.merge(
                        PropertyNames.uniform(setting.path()),
                        setting,
                        BinaryOperator.minBy(Comparator.comparingInt(Setting::precedence))));
        return settings.values().stream()
                .filter(setting -> !setting.text().isBlank())
                .toList();
    }

    /** In uniform spelling. */
    private static String lastElement(String path) {
        return PropertyNames.uniform(path.substring(path.lastIndexOf('.') + 1));
    }

    private <T> T bound(RawTree node, Class<T> type) {
        return Binder.get(environment)
                .bindOrCreate(ConfigurationPropertyName.adapt(node.path(), '.').toString(), Bindable.of(type));
    }

    private String text(Setting setting) {
        return environment.resolvePlaceholders(setting.text());
    }

    /** GatewayCheck reports a placeholder without a value. */
    private boolean isUnresolved(Setting setting) {
        return text(setting).contains("${");
    }
}
