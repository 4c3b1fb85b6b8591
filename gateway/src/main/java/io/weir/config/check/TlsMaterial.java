package io.weir.config.check;

import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.KeyStore;
import java.security.KeyStoreException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.security.interfaces.RSAKey;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;

/**
 * Decides whether the keys and certificates of an SSL bundle can be used.
 *
 * <p>A handshake fails for every peer if the private key does not belong to its certificate, and for every
 * peer that verifies certificates if a certificate of the chain is outside its validity, or if the chain
 * contains a certificate that certifies no other one of the chain. The order of the chain is not checked:
 * peers sort it. Single trusted authorities may have expired, as is usual in bundles of authorities; but at
 * least one of them must be valid.
 */
public final class TlsMaterial {

    private static final byte[] SAMPLE = new byte[64];

    private final @Nullable KeyStore keys;
    private final char @Nullable [] password;
    private final @Nullable String alias;
    private final @Nullable KeyStore trusted;

    /**
     * The material of one bundle.
     *
     * @param keys the store of private keys with their certificates; null: none
     * @param password the password of the keys; null: none
     * @param alias the only entry of {@code keys} in use; null: all
     * @param trusted the store of trusted authorities; null: the JVM's
     */
    TlsMaterial(
            @Nullable KeyStore keys, char @Nullable [] password, @Nullable String alias, @Nullable KeyStore trusted) {
        this.keys = keys;
        this.password = password;
        this.alias = alias;
        this.trusted = trusted;
    }

    /** The material of a bundle. */
    public static TlsMaterial of(SslBundle bundle) {
        @Nullable String ownPassword = bundle.getKey().getPassword();
        @Nullable
        String password = ownPassword != null ? ownPassword : bundle.getStores().getKeyStorePassword();
        return new TlsMaterial(
                bundle.getStores().getKeyStore(),
                password == null ? null : password.toCharArray(),
                bundle.getKey().getAlias(),
                bundle.getStores().getTrustStore());
    }

    /** The reasons in one text. */
    public static String text(List<Finding> findings) {
        return findings.stream().map(Finding::text).distinct().collect(Collectors.joining("; "));
    }

    /**
     * A reason not to use the material.
     *
     * @param isFatal whether every handshake would fail, even with peers that do not verify certificates
     * @param text the reason, for the log
     */
    public record Finding(boolean isFatal, String text) {}

    /**
     * The end of the validity of an entry.
     *
     * @param store {@code key} or {@code trust}
     * @param certificate the alias of the entry
     * @param at the end of the validity of the certificate of its chain that expires first
     */
    public record Expiry(String store, String certificate, Instant at) {}

    /** The reasons not to use the material; empty if it is usable. */
    public List<Finding> findings(Instant now) {
        List<Finding> findings = new ArrayList<>();
        try {
            if (keys != null) {
                checkKeys(keys, now, findings);
            }
            if (trusted != null) {
                checkTrusted(trusted, now, findings);
            }
        } catch (GeneralSecurityException e) {
            findings.add(new Finding(true, "unreadable: " + e.getMessage()));
        }
        return findings;
    }

    private void checkKeys(KeyStore store, Instant now, List<Finding> findings) throws GeneralSecurityException {
        boolean hasKey = false;
        for (String entry : entries(store)) {
            Key key = store.isKeyEntry(entry) ? store.getKey(entry, password) : null;
            List<X509Certificate> chain = chain(store, entry);
            if (key instanceof PrivateKey privateKey && !chain.isEmpty()) {
                hasKey = true;
                if (!isPair(privateKey, chain.getFirst().getPublicKey())) {
                    findings.add(new Finding(
                            true,
                            "the private key does not match the certificate of "
                                    + chain.getFirst().getSubjectX500Principal()));
                }
                checkChain(chain, findings);
                chain.forEach(certificate -> checkValidity(certificate, now, findings));
            }
        }
        if (!hasKey) {
            findings.add(new Finding(true, "no private key with a certificate (expected: at least one)"));
        }
    }

    private List<String> entries(KeyStore store) throws KeyStoreException {
        return alias == null ? Collections.list(store.aliases()) : List.of(alias);
    }

    private static List<X509Certificate> chain(KeyStore store, String entry) throws KeyStoreException {
        Certificate[] chain = store.getCertificateChain(entry);
        return chain == null
                ? List.of()
                : Arrays.stream(chain)
                        .filter(X509Certificate.class::isInstance)
                        .map(X509Certificate.class::cast)
                        .toList();
    }

    private static boolean isPair(PrivateKey key, PublicKey publicKey) throws GeneralSecurityException {
        if (key instanceof RSAKey secret && publicKey instanceof RSAKey open) {
            return secret.getModulus().equals(open.getModulus());
        }
        if (!key.getAlgorithm().equals(publicKey.getAlgorithm())) {
            return false;
        }
        String algorithm =
                switch (key.getAlgorithm()) {
                    case "RSA" -> "SHA256withRSA";
                    case "EC" -> "SHA256withECDSA";
                    case "DSA" -> "SHA256withDSA";
                    // Newer algorithms name the signature like the key.
                    default -> key.getAlgorithm();
                };
        Signature signature = Signature.getInstance(algorithm);
        signature.initSign(key);
        signature.update(SAMPLE);
        byte[] signed = signature.sign();
        try {
            signature.initVerify(publicKey);
            signature.update(SAMPLE);
            return signature.verify(signed);
        } catch (InvalidKeyException | SignatureException e) {
            // Keys on different curves.
            return false;
        }
    }

    private static void checkChain(List<X509Certificate> chain, List<Finding> findings) {
        for (X509Certificate authority : chain.subList(1, chain.size())) {
            if (chain.stream().noneMatch(other -> !other.equals(authority) && hasCertified(authority, other))) {
                findings.add(new Finding(
                        false,
                        "the chain holds " + authority.getSubjectX500Principal()
                                + ", which certifies no other certificate of the chain"));
            }
        }
    }

    private static boolean hasCertified(X509Certificate authority, X509Certificate certificate) {
        if (!authority.getSubjectX500Principal().equals(certificate.getIssuerX500Principal())) {
            return false;
        }
        try {
            certificate.verify(authority.getPublicKey());
            return true;
        } catch (GeneralSecurityException e) {
            return false;
        }
    }

    private static void checkValidity(X509Certificate certificate, Instant now, List<Finding> findings) {
        Instant begin = certificate.getNotBefore().toInstant();
        Instant end = certificate.getNotAfter().toInstant();
        if (now.isBefore(begin) || now.isAfter(end)) {
            findings.add(new Finding(
                    false,
                    "the certificate of " + certificate.getSubjectX500Principal() + " is valid from " + begin + " to "
                            + end + " (expected: now)"));
        }
    }

    private static void checkTrusted(KeyStore store, Instant now, List<Finding> findings) throws KeyStoreException {
        List<Expiry> expiries = expiries("trust", store, null);
        if (expiries.isEmpty()) {
            findings.add(new Finding(true, "no trusted certificate (expected: at least one)"));
        } else if (expiries.stream().noneMatch(expiry -> expiry.at().isAfter(now))) {
            findings.add(new Finding(false, "all trusted certificates have expired"));
        }
    }

    /** The end of the validity of each entry. */
    public List<Expiry> expiries() {
        List<Expiry> expiries = new ArrayList<>();
        try {
            if (keys != null) {
                expiries.addAll(expiries("key", keys, alias));
            }
            if (trusted != null) {
                expiries.addAll(expiries("trust", trusted, null));
            }
        } catch (KeyStoreException e) {
            throw new IllegalStateException("key store not loaded", e);
        }
        return expiries;
    }

    private static List<Expiry> expiries(String kind, KeyStore store, @Nullable String only) throws KeyStoreException {
        List<Expiry> expiries = new ArrayList<>();
        for (String entry : only == null ? Collections.list(store.aliases()) : List.of(only)) {
            List<X509Certificate> chain = chain(store, entry);
            Certificate single = store.getCertificate(entry);
            List<X509Certificate> all =
                    chain.isEmpty() && single instanceof X509Certificate certificate ? List.of(certificate) : chain;
            all.stream()
                    .map(certificate ->
                            Objects.requireNonNull(certificate.getNotAfter()).toInstant())
                    .min(Instant::compareTo)
                    .ifPresent(end -> expiries.add(new Expiry(kind, entry, end)));
        }
        return expiries;
    }
}
