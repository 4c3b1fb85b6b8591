package io.weir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.LabelSelectorBuilder;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.convert.DurationStyle;
import org.yaml.snakeyaml.Yaml;

/** The manifests are what Kubernetes knows, field by field, and they fit the gateway that they deploy. */
class KubernetesTest {

    private static final Path OPS = Path.of("..", "ops");
    private static final Path MANIFESTS = OPS.resolve("kubernetes");
    private static final Path PRODUCTION = Path.of("..", "config", "production.yml");
    private static final Path RULE = MANIFESTS.resolve("prometheus-rule.yaml");
    private static final Set<String> NO_MANIFESTS = Set.of("kustomization.yaml", "adapter-rule.yaml");

    private static final Map<String, Class<? extends HasMetadata>> KINDS = Map.of(
            "v1/Service", Service.class,
            "v1/ServiceAccount", ServiceAccount.class,
            "apps/v1/Deployment", Deployment.class,
            "autoscaling/v2/HorizontalPodAutoscaler", HorizontalPodAutoscaler.class,
            "networking.k8s.io/v1/NetworkPolicy", NetworkPolicy.class,
            "policy/v1/PodDisruptionBudget", PodDisruptionBudget.class,
            "monitoring.coreos.com/v1/ServiceMonitor", ServiceMonitor.class,
            "monitoring.coreos.com/v1/PrometheusRule", PrometheusRule.class);

    /** Knows the fields of the model and no other, and takes no text for a number. */
    private static final ObjectMapper STRICT = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .annotationIntrospector(new JacksonAnnotationIntrospector() {
                private static final long serialVersionUID = 1;

                @Override
                public Boolean hasAnySetter(Annotated annotated) {
                    return false;
                }
            })
            .build();

    @ParameterizedTest(name = "{0}")
    @MethodSource("manifests")
    void isWhatKubernetesKnows(String file) throws IOException {
        HasMetadata manifest = read(file);

        assertThat(manifest.getMetadata().getName()).startsWith("weir-gateway");
    }

    @Test
    void aFieldThatKubernetesDoesNotKnowIsFound() {
        JsonNode wrong = STRICT.valueToTree(
                Map.of("apiVersion", "v1", "kind", "Service", "spec", Map.of("ports", List.of(Map.of("prot", 80)))));

        assertThatThrownBy(() -> STRICT.treeToValue(wrong, Service.class)).hasMessageContaining("\"prot\"");
    }

    @Test
    void everyManifestIsInTheKustomization() throws IOException {
        assertThat(yaml(MANIFESTS.resolve("kustomization.yaml")).at("/resources"))
                .map(JsonNode::asText)
                .containsExactlyInAnyOrderElementsOf(
                        Stream.concat(Stream.of("../../config"), manifests()).toList());
    }

    @Test
    void theRulesAreThoseOfPrometheus() throws IOException {
        ArrayNode groups = STRICT.createArrayNode();
        StringBuilder text = new StringBuilder("""
                # ops/prometheus/rules, for the Prometheus operator. Written by a test:
                #
                #   mvn test -pl gateway -Dtest=KubernetesTest -Dops=write
                apiVersion: monitoring.coreos.com/v1
                kind: PrometheusRule
                metadata:
                  name: weir-gateway
                spec:
                  groups:
                """);
        for (String name : List.of("recording.yml", "alerts.yml")) {
            Path file = OPS.resolve("prometheus/rules").resolve(name);
            yaml(file).at("/groups").forEach(groups::add);
            String rules = Files.readString(file);
            text.append(rules.substring(rules.indexOf("groups:\n") + "groups:\n".length())
                    .indent(2));
        }
        if ("write".equals(System.getProperty("ops"))) {
            Files.writeString(RULE, text.toString().replaceAll("(?m)^ +$", ""));
        }

        assertThat(yaml(RULE).at("/spec/groups")).isEqualTo(groups);
    }

    @Test
    void thePodLivesLongerThanTheDrain() throws IOException {
        PodSpec pod = pod();
        Duration drain = setting("drain.delay").plus(setting("drain.timeout"));
        Long preStop = gateway(pod).getLifecycle().getPreStop().getSleep().getSeconds();

        assertThat(Duration.ofSeconds(pod.getTerminationGracePeriodSeconds()))
                .isGreaterThan(drain.plusSeconds(preStop).plusSeconds(5));
    }

    @Test
    void balancersHearOfADrainBeforeAnythingIsRefused() throws IOException {
        Probe readiness = gateway(pod()).getReadinessProbe();
        int unreadyAfter =
                readiness.getPeriodSeconds() * readiness.getFailureThreshold() + readiness.getTimeoutSeconds();

        assertThat(Duration.ofSeconds(unreadyAfter)).isLessThan(setting("drain.delay"));
    }

    @Test
    void portsAreTheGateways() throws IOException {
        Container gateway = gateway(pod());
        JsonNode production = yaml(PRODUCTION);

        assertThat(gateway.getPorts())
                .extracting(port -> port.getName() + ' ' + port.getContainerPort())
                .containsExactly(
                        "http " + production.at("/server/port").asInt(),
                        "management " + production.at("/management/server/port").asInt());
    }

    @Test
    void probesAskTheManagementPortForWhatTheyAreAbout() throws IOException {
        Container gateway = gateway(pod());

        assertThat(List.of(gateway.getStartupProbe(), gateway.getReadinessProbe(), gateway.getLivenessProbe()))
                .extracting(probe -> probe.getHttpGet().getPort().getStrVal()
                        + ' '
                        + probe.getHttpGet().getPath())
                .containsExactly(
                        "management /actuator/health/liveness",
                        "management /actuator/health/readiness",
                        "management /actuator/health/liveness");
    }

    @Test
    void theServicesLeadToTheGatewaysPorts() throws IOException {
        assertThat(((Service) read("service.yaml")).getSpec().getPorts())
                .extracting(port -> port.getTargetPort().getStrVal())
                .containsExactly("http");
        assertThat(((Service) read("service-headless.yaml")).getSpec().getPorts())
                .extracting(port -> port.getName() + ' ' + port.getTargetPort().getStrVal())
                .containsExactly("management management");
        assertThat(((ServiceMonitor) read("service-monitor.yaml")).getSpec().getEndpoints())
                .extracting(endpoint -> endpoint.getPort() + ' ' + endpoint.getPath())
                .containsExactly("management /actuator/prometheus");
    }

    @Test
    void theGatewayFindsItsFileAndItsTokenAndPrometheusTheSameToken() throws IOException {
        PodSpec pod = pod();
        Container gateway = gateway(pod);
        JsonNode generator =
                yaml(PRODUCTION.resolveSibling("kustomization.yaml")).at("/configMapGenerator/0");
        String mount = gateway.getVolumeMounts().getFirst().getMountPath();

        assertThat(generator.at("/files/0").asText()).isEqualTo("weir.yml=" + PRODUCTION.getFileName());
        assertThat(pod.getVolumes().getFirst().getConfigMap().getName())
                .isEqualTo(generator.at("/name").asText());
        assertThat(pod.getVolumes().getFirst().getName())
                .isEqualTo(gateway.getVolumeMounts().getFirst().getName());
        assertThat(gateway.getArgs()).containsExactly(mount + "/weir.yml");

        var token = gateway.getEnv().getFirst();
        assertThat(yaml(PRODUCTION).at("/weir/management/token").asText()).isEqualTo("${" + token.getName() + "}");
        var credentials = ((ServiceMonitor) read("service-monitor.yaml"))
                .getSpec()
                .getEndpoints()
                .getFirst()
                .getAuthorization()
                .getCredentials();
        assertThat(credentials).isEqualTo(token.getValueFrom().getSecretKeyRef());
    }

    @Test
    void aRolloutAnEvictionOrTheAutoscalerNeverTakesTheLastGateway() throws IOException {
        Deployment deployment = (Deployment) read("deployment.yaml");
        var autoscaler = ((HorizontalPodAutoscaler) read("autoscaler.yaml")).getSpec();
        var budget = ((PodDisruptionBudget) read("pod-disruption-budget.yaml")).getSpec();

        assertThat(deployment
                        .getSpec()
                        .getStrategy()
                        .getRollingUpdate()
                        .getMaxUnavailable()
                        .getIntVal())
                .isZero();
        assertThat(deployment.getSpec().getReplicas())
                .as("what the autoscaler sets")
                .isNull();
        assertThat(autoscaler.getMinReplicas())
                .isGreaterThan(budget.getMaxUnavailable().getIntVal());
        assertThat(autoscaler.getScaleTargetRef())
                .extracting("apiVersion", "kind", "name")
                .containsExactly(
                        deployment.getApiVersion(),
                        deployment.getKind(),
                        deployment.getMetadata().getName());
    }

    @Test
    void theAutoscalerFollowsWhatIsInFlightAndProcessorsBesides() throws IOException {
        var metrics =
                ((HorizontalPodAutoscaler) read("autoscaler.yaml")).getSpec().getMetrics();

        assertThat(metrics).extracting("type").containsExactly("Pods", "Resource");
        var inFlight = metrics.getFirst().getPods();
        assertThat(inFlight.getMetric().getName()).isEqualTo("weir_inflight_share");
        // Well before the gateway refuses at 1, and before WeirGatewayNearLimit at 0.8.
        assertThat(inFlight.getTarget().getAverageValue().getNumericalAmount())
                .isBetween(new BigDecimal("0.1"), new BigDecimal("0.7"));
        assertThat(metrics.getLast().getResource().getName()).isEqualTo("cpu");
    }

    @Test
    void theNetworkPolicyKeepsTheManagementPortForPrometheusAndCallersFromTheMetadataService() throws IOException {
        var policy = ((NetworkPolicy) read("network-policy.yaml")).getSpec();

        assertThat(policy.getPolicyTypes()).containsExactlyInAnyOrder("Ingress", "Egress");
        for (var ingress : policy.getIngress()) {
            assertThat(ingress.getPorts())
                    .as("ports, since a rule without any is for all")
                    .hasSize(1);
            if (ingress.getFrom().isEmpty()) {
                assertThat(ingress.getPorts().getFirst().getPort().getStrVal()).isEqualTo("http");
            } else {
                assertThat(ingress.getPorts().getFirst().getPort().getStrVal()).isEqualTo("management");
                assertThat(ingress.getFrom())
                        .allSatisfy(
                                from -> assertThat(from.getNamespaceSelector().getMatchLabels())
                                        .isNotEmpty());
            }
        }
        assertThat(policy.getIngress()).hasSize(2);
        for (var egress : policy.getEgress()) {
            if (egress.getTo().isEmpty()) {
                assertThat(egress.getPorts())
                        .extracting(port -> port.getPort().getIntVal())
                        .containsOnly(53);
            } else {
                assertThat(egress.getTo())
                        .allSatisfy(
                                to -> assertThat(to.getIpBlock().getExcept()).contains("169.254.169.254/32"));
            }
        }
        assertThat(policy.getEgress()).hasSize(2);
    }

    /** As written: Kustomize adds labels to some of the selectors only, and in some kinds none means no pod, in others each. */
    @Test
    void everySelectorIsForTheGatewaysPodsAndNoOthers() throws IOException {
        var deployment = ((Deployment) read("deployment.yaml")).getSpec();
        Map<String, String> labels = deployment.getTemplate().getMetadata().getLabels();
        LabelSelector gateways =
                new LabelSelectorBuilder().withMatchLabels(labels).build();

        assertThat(labels).containsExactly(Map.entry("app.kubernetes.io/name", "weir-gateway"));
        assertThat(deployment.getSelector()).isEqualTo(gateways);
        assertThat(deployment.getTemplate().getSpec().getTopologySpreadConstraints())
                .isNotEmpty()
                .allSatisfy(spread -> assertThat(spread.getLabelSelector()).isEqualTo(gateways));
        for (String file : List.of("service.yaml", "service-headless.yaml")) {
            assertThat(((Service) read(file)).getSpec().getSelector()).as(file).isEqualTo(labels);
        }
        assertThat(((PodDisruptionBudget) read("pod-disruption-budget.yaml"))
                        .getSpec()
                        .getSelector())
                .isEqualTo(gateways);
        assertThat(((NetworkPolicy) read("network-policy.yaml")).getSpec().getPodSelector())
                .isEqualTo(gateways);
        assertThat(yaml(MANIFESTS.resolve("kustomization.yaml")).at("/labels"))
                .isEqualTo(STRICT.valueToTree(List.of(Map.of("pairs", labels))));
    }

    @Test
    void theContainerIsTheImagesUser() throws IOException {
        var security = pod().getSecurityContext();

        assertThat(Files.readString(OPS.resolve("images/gateway/Dockerfile")))
                .contains("\nUSER %d:%d\n".formatted(security.getRunAsUser(), security.getRunAsGroup()));
    }

    @Test
    void theContainerMayDoNothingThatTheGatewayDoesNot() throws IOException {
        PodSpec pod = pod();
        var security = gateway(pod).getSecurityContext();

        assertThat(pod.getSecurityContext().getRunAsNonRoot()).isTrue();
        assertThat(pod.getAutomountServiceAccountToken()).isFalse();
        assertThat(security.getReadOnlyRootFilesystem()).isTrue();
        assertThat(security.getAllowPrivilegeEscalation()).isFalse();
        assertThat(security.getCapabilities().getDrop()).containsExactly("ALL");
    }

    @Test
    void theHeadlessServiceIsWhatTheServiceMonitorAndClusterScopeLookFor() throws IOException {
        Service headless = (Service) read("service-headless.yaml");
        ServiceMonitor monitor = (ServiceMonitor) read("service-monitor.yaml");

        assertThat(headless.getSpec().getClusterIP()).isEqualTo("None");
        assertThat(Files.readString(PRODUCTION))
                .contains("gateways: " + headless.getMetadata().getName() + " ");
        assertThat(monitor.getSpec().getSelector())
                .isEqualTo(new LabelSelectorBuilder()
                        .withMatchLabels(headless.getMetadata().getLabels())
                        .build());
        assertThat(headless.getMetadata().getLabels()).containsKey("app.kubernetes.io/component");
        assertThat(read("service.yaml").getMetadata().getLabels())
                .as("of the callers' service, which is not to be scraped")
                .doesNotContainKey("app.kubernetes.io/component");
    }

    static Stream<String> manifests() throws IOException {
        try (Stream<Path> files = Files.list(MANIFESTS)) {
            return files
                    .map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".yaml") && !NO_MANIFESTS.contains(name))
                    .collect(Collectors.toCollection(TreeSet::new))
                    .stream();
        }
    }

    private static HasMetadata read(String file) throws IOException {
        JsonNode document = yaml(MANIFESTS.resolve(file));
        String kind =
                document.at("/apiVersion").asText() + "/" + document.at("/kind").asText();
        Class<? extends HasMetadata> type = KINDS.get(kind);
        assertThat(type).as("%s: %s", file, kind).isNotNull();
        return STRICT.treeToValue(document, type);
    }

    private static PodSpec pod() throws IOException {
        return ((Deployment) read("deployment.yaml")).getSpec().getTemplate().getSpec();
    }

    private static Container gateway(PodSpec pod) {
        assertThat(pod.getContainers()).hasSize(1);
        return pod.getContainers().getFirst();
    }

    /** A duration of the configuration that is deployed. */
    private static Duration setting(String path) throws IOException {
        String value = yaml(PRODUCTION).at("/weir/" + path.replace('.', '/')).asText();
        return DurationStyle.detectAndParse(value);
    }

    private static JsonNode yaml(Path file) throws IOException {
        return STRICT.valueToTree(new Yaml().load(Files.readString(file)));
    }
}
