package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.marcnuri.helm.Helm;
import com.marcnuri.helm.TemplateCommand;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodSpecBuilder;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServicePort;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import io.fabric8.kubernetes.api.model.gatewayapi.v1.HTTPRoute;
import io.fabric8.kubernetes.api.model.networking.v1.Ingress;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Helm renders the chart to manifests that Kubernetes' schemas accept and that deploy the same gateway as
 * those of Kustomize. Helm runs as a library, which exists for the processor of CI only.
 */
@EnabledOnOs(value = OS.LINUX, architectures = "amd64")
class HelmChartTest {

    private static final Path CHART = Path.of("..", "ops", "helm", "weir");
    private static final Path MANIFESTS = Path.of("..", "ops", "kubernetes");
    private static final Path PRODUCTION = Path.of("..", "config", "production.yml");

    /**
     * The chart without its lowest version of Kubernetes: the library renders for 1.20, whatever the chart
     * needs.
     */
    @TempDir
    private static Path copy;

    @BeforeAll
    static void copyChart() throws IOException {
        try (Stream<Path> files = Files.walk(CHART, FileVisitOption.FOLLOW_LINKS)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path target = copy.resolve(CHART.relativize(file).toString());
                Files.createDirectories(target.getParent());
                Files.copy(file, target);
            }
        }
        Path chart = copy.resolve("Chart.yaml");
        String text = Files.readString(chart);
        assertThat(text).contains("\nkubeVersion: \">=1.30.0-0\"\n");
        Files.writeString(chart, text.replaceFirst("\nkubeVersion: .*", ""));
    }

    @Test
    void lintFindsNoMistake() {
        var result = new Helm(CHART).lint().strict().call();

        assertThat(result.isFailed()).as(result.getMessages().toString()).isFalse();
    }

    @Test
    void defaultsNeedNothingThatAClusterMayNotHave() throws IOException {
        Map<String, HasMetadata> chart = render(Map.of());

        assertThat(chart)
                .containsOnlyKeys(
                        "ConfigMap weir-gateway",
                        "Deployment weir-gateway",
                        "HorizontalPodAutoscaler weir-gateway",
                        "NetworkPolicy weir-gateway",
                        "PodDisruptionBudget weir-gateway",
                        "Service weir-gateway",
                        "Service weir-gateways",
                        "ServiceAccount weir-gateway");
        assertThat(only(chart, HorizontalPodAutoscaler.class).getSpec().getMetrics())
                .extracting("type")
                .containsExactly("Resource");
        assertThat(only(chart, ConfigMap.class).getData()).isEqualTo(Map.of("weir.yml", Files.readString(PRODUCTION)));
    }

    /** The chart repeats the manifests; this holds the two together. */
    @Test
    void deploysThePodOfTheManifests() throws IOException {
        PodSpec pod = pod(render(Map.of("image.tag", "latest")));
        PodSpec ofManifests = KubernetesTest.pod();
        Container container = pod.getContainers().getFirst();
        assertThat(container.getImage()).isEqualTo("weir-gateway:latest");
        container.setImage(ofManifests.getContainers().getFirst().getImage());

        assertThat(withoutSelector(pod)).isEqualTo(withoutSelector(ofManifests));
    }

    @Test
    void hasTheServicesBudgetAndPolicyOfTheManifests() throws IOException {
        Map<String, HasMetadata> chart = render(Map.of());

        var policy = only(chart, NetworkPolicy.class).getSpec();
        var ofManifests = ((NetworkPolicy) manifest("network-policy.yaml")).getSpec();
        // The other gateways: those of the same release.
        assertThat(policy.getIngress().getLast().getFrom().removeLast().getPodSelector())
                .isEqualTo(policy.getPodSelector());
        assertThat(ofManifests.getIngress().getLast().getFrom().removeLast().getPodSelector())
                .isEqualTo(ofManifests.getPodSelector());
        assertThat(policy.getIngress()).isEqualTo(ofManifests.getIngress());
        assertThat(policy.getEgress()).isEqualTo(ofManifests.getEgress());
        assertThat(policy.getPolicyTypes()).isEqualTo(ofManifests.getPolicyTypes());
        for (String name : List.of("service", "service-headless")) {
            Service expected = (Service) manifest(name + ".yaml");
            Service service =
                    (Service) chart.get("Service " + expected.getMetadata().getName());
            assertThat(service.getSpec().getPorts())
                    .isEqualTo(expected.getSpec().getPorts());
            assertThat(service.getSpec().getSelector())
                    .containsAllEntriesOf(expected.getSpec().getSelector());
        }
        assertThat(only(chart, PodDisruptionBudget.class).getSpec().getMaxUnavailable())
                .isEqualTo(((PodDisruptionBudget) manifest("pod-disruption-budget.yaml"))
                        .getSpec()
                        .getMaxUnavailable());
        assertThat(only(chart, HorizontalPodAutoscaler.class).getSpec().getBehavior())
                .isEqualTo(((HorizontalPodAutoscaler) manifest("autoscaler.yaml"))
                        .getSpec()
                        .getBehavior());
    }

    @Test
    void everySelectorSelectsThePodsOfItsReleaseOnly() throws IOException {
        Map<String, HasMetadata> chart = render(Map.of("serviceMonitor.enabled", "true"));
        Map<String, String> labels =
                Map.of("app.kubernetes.io/name", "weir-gateway", "app.kubernetes.io/instance", "weir");
        var deployment = only(chart, Deployment.class).getSpec();

        assertThat(deployment.getTemplate().getMetadata().getLabels()).containsAllEntriesOf(labels);
        assertThat(deployment.getSelector().getMatchLabels()).isEqualTo(labels);
        assertThat(deployment
                        .getTemplate()
                        .getSpec()
                        .getTopologySpreadConstraints()
                        .getFirst()
                        .getLabelSelector()
                        .getMatchLabels())
                .isEqualTo(labels);
        assertThat(((Service) chart.get("Service weir-gateway")).getSpec().getSelector())
                .isEqualTo(labels);
        assertThat(only(chart, PodDisruptionBudget.class)
                        .getSpec()
                        .getSelector()
                        .getMatchLabels())
                .isEqualTo(labels);
        assertThat(only(chart, NetworkPolicy.class).getSpec().getPodSelector().getMatchLabels())
                .isEqualTo(labels);
        // The monitor selects the headless service by its labels.
        assertThat(chart.get("Service weir-gateways").getMetadata().getLabels())
                .containsAllEntriesOf(only(chart, ServiceMonitor.class)
                        .getSpec()
                        .getSelector()
                        .getMatchLabels());
        assertThat(chart.get("Service weir-gateway").getMetadata().getLabels())
                .doesNotContainKey("app.kubernetes.io/component");
    }

    @Test
    void eachPartCanBeSwitchedOn() throws IOException {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("ingress.enabled", "true");
        values.put("ingress.className", "nginx");
        values.put("ingress.host", "shop.example");
        values.put("ingress.tlsSecret", "shop-certificate");
        values.put("serviceMonitor.enabled", "true");
        values.put("serviceMonitor.labels.release", "prometheus");
        values.put("prometheusRule.enabled", "true");
        values.put("autoscaling.inFlight.enabled", "true");
        values.put("tls.secret", "edge-certificate");
        values.put("tokens.secret", "other-tokens");
        values.put("env[0].name", "WEIR_ALICES_TOKEN");
        values.put("env[0].value", "secret");
        values.put("image.repository", "registry.example/weir");
        values.put("image.pullSecrets[0]", "registry");
        values.put("restartOnChange", "true");
        values.put("podAnnotations.team", "edge");
        values.put("nodeSelector.pool", "edge");
        Map<String, HasMetadata> chart = render(values);

        var ingress = only(chart, Ingress.class).getSpec();
        assertThat(ingress.getTls().getFirst().getSecretName()).isEqualTo("shop-certificate");
        assertThat(ingress.getTls().getFirst().getHosts()).containsExactly("shop.example");
        assertThat(ingress.getRules().getFirst().getHost()).isEqualTo("shop.example");
        ServiceMonitor monitor = only(chart, ServiceMonitor.class);
        assertThat(monitor.getMetadata().getLabels()).containsEntry("release", "prometheus");
        assertThat(monitor.getSpec().getEndpoints())
                .extracting(
                        endpoint -> endpoint.getAuthorization().getCredentials().getName())
                .containsExactly("other-tokens");
        assertThat(only(chart, PrometheusRule.class).getSpec())
                .isEqualTo(((PrometheusRule) manifest("prometheus-operator/prometheus-rule.yaml")).getSpec());
        assertThat(only(chart, HorizontalPodAutoscaler.class).getSpec().getMetrics())
                .isEqualTo(((HorizontalPodAutoscaler) manifest("autoscaler.yaml"))
                        .getSpec()
                        .getMetrics());
        PodSpec pod = pod(chart);
        Container container = pod.getContainers().getFirst();
        assertThat(container.getImage()).startsWith("registry.example/weir:");
        assertThat(container.getEnv()).extracting("name").contains("WEIR_ALICES_TOKEN");
        assertThat(container.getVolumeMounts()).extracting("mountPath").contains("/etc/weir-tls");
        assertThat(pod.getVolumes()).extracting("name").contains("tls");
        assertThat(pod.getImagePullSecrets()).extracting("name").containsExactly("registry");
        assertThat(pod.getNodeSelector()).isEqualTo(Map.of("pool", "edge"));
        assertThat(only(chart, Deployment.class)
                        .getSpec()
                        .getTemplate()
                        .getMetadata()
                        .getAnnotations())
                .containsOnlyKeys("team", "weir/configuration");
    }

    /** TLS at the gateway and on the management port, virtual hosts, client certificates, extensions. */
    @Test
    void deploysAnEdgeWithTls() throws IOException {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("managementScheme", "HTTPS");
        values.put("serviceMonitor.enabled", "true");
        values.put("serviceMonitor.tlsConfig.ca.secret.name", "weir-ca");
        values.put("serviceMonitor.tlsConfig.ca.secret.key", "ca.crt");
        values.put("redirect.enabled", "true");
        values.put("service.type", "LoadBalancer");
        values.put("service.port", "443");
        values.put("service.nodePort", "30443");
        values.put("service.labels.team", "edge");
        values.put("service.externalTrafficPolicy", "Local");
        values.put("service.loadBalancerClass", "example.com/internal");
        values.put("service.loadBalancerSourceRanges[0]", "192.0.2.0/24");
        values.put("extraArgs[0]", "--logging.level.io.weir=DEBUG");
        values.put("extraVolumes[0].name", "callers-ca");
        values.put("extraVolumes[0].secret.secretName", "callers-ca");
        values.put("extraVolumeMounts[0].name", "callers-ca");
        values.put("extraVolumeMounts[0].mountPath", "/etc/weir-callers");
        values.put("podLabels.team", "edge");
        Map<String, HasMetadata> chart = render(values);

        PodSpec pod = pod(chart);
        Container container = pod.getContainers().getFirst();
        assertThat(List.of(container.getStartupProbe(), container.getReadinessProbe(), container.getLivenessProbe()))
                .extracting(probe -> probe.getHttpGet().getScheme())
                .containsOnly("HTTPS");
        assertThat(container.getArgs()).containsExactly("/etc/weir/weir.yml", "--logging.level.io.weir=DEBUG");
        assertThat(container.getVolumeMounts())
                .filteredOn(mount -> mount.getName().equals("callers-ca"))
                .extracting("mountPath")
                .containsExactly("/etc/weir-callers");
        assertThat(pod.getVolumes())
                .filteredOn(volume -> volume.getName().equals("callers-ca"))
                .extracting(volume -> volume.getSecret().getSecretName())
                .containsExactly("callers-ca");
        assertThat(only(chart, Deployment.class)
                        .getSpec()
                        .getTemplate()
                        .getMetadata()
                        .getLabels())
                .containsEntry("team", "edge");
        Service service = (Service) chart.get("Service weir-gateway");
        assertThat(service.getMetadata().getLabels()).containsEntry("team", "edge");
        assertThat(service.getSpec().getExternalTrafficPolicy()).isEqualTo("Local");
        assertThat(service.getSpec().getLoadBalancerClass()).isEqualTo("example.com/internal");
        assertThat(service.getSpec().getLoadBalancerSourceRanges()).containsExactly("192.0.2.0/24");
        // Each port of the service is one of the container that callers may reach.
        assertThat(service.getSpec().getPorts())
                .extracting(port ->
                        port.getPort() + " to " + port.getTargetPort().getStrVal() + " at " + port.getNodePort())
                .containsExactly("443 to http at 30443", "80 to redirect at null");
        assertThat(container.getPorts()).extracting("name").containsExactly("http", "management", "redirect");
        assertThat(only(chart, NetworkPolicy.class)
                        .getSpec()
                        .getIngress()
                        .getFirst()
                        .getPorts())
                .extracting(port -> port.getPort().getStrVal())
                .containsExactly("http", "redirect");
        var scraped = only(chart, ServiceMonitor.class).getSpec().getEndpoints().getFirst();
        assertThat(scraped.getScheme()).isEqualTo("https");
        assertThat(scraped.getTlsConfig().getCa().getSecret().getName()).isEqualTo("weir-ca");
    }

    /** The recipe's certificate is where its configuration expects it, and its ports are the service's. */
    @Test
    void deploysTheRecipe() throws IOException {
        String recipe = Files.readString(Path.of("..", "config", "recipes.md"))
                .split("\n## Helm, ")[1]
                .split("\n## ")[0];
        Map<String, String> values = Pattern.compile("--set ([a-z.]+)=(\\S+)")
                .matcher(recipe)
                .results()
                .collect(Collectors.toMap(found -> found.group(1), found -> found.group(2)));
        Map<String, HasMetadata> chart = render(values);

        PodSpec pod = pod(chart);
        Container container = pod.getContainers().getFirst();
        assertThat(pod.getVolumes())
                .filteredOn(volume -> volume.getName().equals("tls"))
                .extracting(volume -> volume.getSecret().getSecretName())
                .containsExactly("edge-certificate");
        assertThat(recipe).contains("secret tls edge-certificate ");
        assertThat(container.getVolumeMounts())
                .filteredOn(mount -> mount.getName().equals("tls"))
                .extracting(VolumeMount::getMountPath)
                .allSatisfy(
                        path -> assertThat(recipe).contains("file:" + path + "/tls.crt", "file:" + path + "/tls.key"))
                .hasSize(1);
        assertThat(container.getPorts())
                .extracting(ContainerPort::getContainerPort)
                .allSatisfy(port -> assertThat(recipe).containsPattern("port: " + port))
                .hasSize(3);
        assertThat(((Service) chart.get("Service weir-gateway")).getSpec().getPorts())
                .extracting(ServicePort::getPort)
                .containsExactly(443, 80);
    }

    @Test
    void receivesTheRequestsOfAGateway() throws IOException {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("httpRoute.enabled", "true");
        values.put("httpRoute.parentRefs[0].name", "public");
        values.put("httpRoute.parentRefs[0].namespace", "edge");
        values.put("httpRoute.hostnames[0]", "shop.example");
        values.put("service.port", "8443");
        Map<String, HasMetadata> chart = render(values);

        var route = only(chart, HTTPRoute.class).getSpec();
        assertThat(route.getParentRefs()).extracting("name").containsExactly("public");
        assertThat(route.getHostnames()).containsExactly("shop.example");
        var rule = route.getRules().getFirst();
        assertThat(rule.getMatches().getFirst().getPath().getValue()).isEqualTo("/");
        var backend = rule.getBackendRefs().getFirst();
        Service service = (Service) chart.get("Service " + backend.getName());
        assertThat(service.getSpec().getPorts()).extracting("port").contains(backend.getPort());
    }

    /** What an operator reads after the installation leads to the dashboard. */
    @Test
    void itsNotesNameTheTokenOfTheDashboard() throws IOException {
        assertThat(new Helm(copy)
                        .install()
                        .clientOnly()
                        .dryRun()
                        .withName("weir")
                        .withNamespace("edge")
                        .call()
                        .getOutput())
                .contains("get secret weir-management", "{{ index .data \"token\" | base64decode }}");
    }

    @Test
    void eachPartCanBeSwitchedOff() throws IOException {
        Map<String, HasMetadata> chart = render(Map.of(
                "autoscaling.enabled",
                "false",
                "replicas",
                "3",
                "networkPolicy.enabled",
                "false",
                "configuration",
                "a: 1"));

        assertThat(chart.keySet()).noneMatch(name -> name.startsWith("Horizontal") || name.startsWith("Network"));
        assertThat(only(chart, Deployment.class).getSpec().getReplicas()).isEqualTo(3);
        assertThat(only(chart, ConfigMap.class).getData()).isEqualTo(Map.of("weir.yml", "a: 1\n"));
    }

    @Test
    void refusesAnUnknownOrInvalidValue() {
        assertThatThrownBy(() -> render(Map.of("replica", "3"))).hasMessageContaining("replica");
        assertThatThrownBy(() -> render(Map.of("image.pullPolicy", "Sometimes")))
                .hasMessageContaining("pullPolicy");
        assertThatThrownBy(() -> render(Map.of("ingress.enabled", "true", "ingress.tlsSecret", "certificate")))
                .hasMessageContaining("ingress.host: missing");
        assertThatThrownBy(() -> render(Map.of("httpRoute.enabled", "true")))
                .hasMessageContaining("httpRoute.parentRefs: missing");
        assertThatThrownBy(() -> render(Map.of("managementScheme", "https"))).hasMessageContaining("managementScheme");
    }

    @Test
    void itsVersionIsThatOfTheGateway() throws IOException {
        String pom = Files.readString(Path.of("pom.xml"));
        String version = KubernetesTest.yaml(Files.readString(CHART.resolve("Chart.yaml")))
                .getFirst()
                .at("/appVersion")
                .asText();

        assertThat(pom).contains("<version>" + version + "</version>");
    }

    /** Renders the chart as release weir, and checks each manifest; by kind and name. */
    private static Map<String, HasMetadata> render(Map<String, String> values) throws IOException {
        TemplateCommand template = new Helm(copy).template().withName("weir").withNamespace("edge");
        values.forEach(template::set);
        Map<String, HasMetadata> manifests = new LinkedHashMap<>();
        for (JsonNode document : KubernetesTest.yaml(template.call())) {
            HasMetadata manifest = KubernetesTest.manifest("chart", document);
            String name = manifest.getKind() + ' ' + manifest.getMetadata().getName();
            assertThat(manifests.put(name, manifest)).as(name).isNull();
        }
        return manifests;
    }

    private static <T extends HasMetadata> T only(Map<String, HasMetadata> manifests, Class<T> type) {
        List<T> found = manifests.values().stream()
                .filter(type::isInstance)
                .map(type::cast)
                .toList();
        assertThat(found).hasSize(1);
        return found.getFirst();
    }

    private static PodSpec pod(Map<String, HasMetadata> manifests) {
        return only(manifests, Deployment.class).getSpec().getTemplate().getSpec();
    }

    /** A chart's selectors name its release, too. */
    private static PodSpec withoutSelector(PodSpec pod) {
        return new PodSpecBuilder(pod)
                .editFirstTopologySpreadConstraint()
                .withLabelSelector(null)
                .endTopologySpreadConstraint()
                .build();
    }

    private static HasMetadata manifest(String file) throws IOException {
        return KubernetesTest.manifest(
                file,
                KubernetesTest.yaml(Files.readString(MANIFESTS.resolve(file))).getFirst());
    }
}
