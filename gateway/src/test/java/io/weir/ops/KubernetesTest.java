package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.LabelSelectorBuilder;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import io.fabric8.kubernetes.api.model.gatewayapi.v1.HTTPRoute;
import io.fabric8.kubernetes.api.model.networking.v1.Ingress;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1Ingress;
import io.kubernetes.client.openapi.models.V1NetworkPolicy;
import io.kubernetes.client.openapi.models.V1PodDisruptionBudget;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V1ServiceAccount;
import io.kubernetes.client.openapi.models.V2HorizontalPodAutoscaler;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.convert.DurationStyle;
import org.yaml.snakeyaml.Yaml;

/**
 * The manifests are valid for Kubernetes, field by field, and fit the gateway that they deploy.
 *
 * <p>Fabric8's model detects unknown fields and wrong types; the schemas in Kubernetes' own Java client
 * detect missing fields. These schemas, like all schemas that Kubernetes publishes, do not list the words
 * that a field accepts: {@link #WORDS} does. For the kinds of the Prometheus operator and of the Gateway API
 * only unknown fields and wrong types are detected; promtool checks the rules, and tests below check the
 * monitor.
 */
class KubernetesTest {

    private static final Path OPS = Path.of("..", "ops");
    private static final Path MANIFESTS = OPS.resolve("kubernetes");
    private static final Path PRODUCTION = Path.of("..", "config", "production.yml");
    private static final String SERVICE_MONITOR = "prometheus-operator/service-monitor.yaml";
    private static final Path RULE = MANIFESTS.resolve("prometheus-operator/prometheus-rule.yaml");
    private static final Set<String> NO_MANIFESTS = Set.of("kustomization.yaml", "adapter-rule.yaml");
    /** The folders that add manifests, each with a kustomization of its own. */
    private static final List<String> OVERLAYS = List.of("prometheus-operator", "../kubernetes-example");

    /** Throws for a manifest that violates the schema. */
    private interface Schema {
        void check(JsonElement manifest) throws IOException;
    }

    private record Kind(
            Class<? extends HasMetadata> model, @Nullable Schema schema) {}

    private static final Map<String, Kind> KINDS = Map.ofEntries(
            Map.entry("v1/ConfigMap", new Kind(ConfigMap.class, V1ConfigMap::validateJsonElement)),
            Map.entry("v1/Service", new Kind(Service.class, V1Service::validateJsonElement)),
            Map.entry("v1/ServiceAccount", new Kind(ServiceAccount.class, V1ServiceAccount::validateJsonElement)),
            Map.entry("apps/v1/Deployment", new Kind(Deployment.class, V1Deployment::validateJsonElement)),
            Map.entry(
                    "autoscaling/v2/HorizontalPodAutoscaler",
                    new Kind(HorizontalPodAutoscaler.class, V2HorizontalPodAutoscaler::validateJsonElement)),
            Map.entry("networking.k8s.io/v1/Ingress", new Kind(Ingress.class, V1Ingress::validateJsonElement)),
            Map.entry(
                    "networking.k8s.io/v1/NetworkPolicy",
                    new Kind(NetworkPolicy.class, V1NetworkPolicy::validateJsonElement)),
            Map.entry(
                    "policy/v1/PodDisruptionBudget",
                    new Kind(PodDisruptionBudget.class, V1PodDisruptionBudget::validateJsonElement)),
            Map.entry("monitoring.coreos.com/v1/ServiceMonitor", new Kind(ServiceMonitor.class, null)),
            Map.entry("monitoring.coreos.com/v1/PrometheusRule", new Kind(PrometheusRule.class, null)),
            Map.entry("gateway.networking.k8s.io/v1/HTTPRoute", new Kind(HTTPRoute.class, null)));

    /** The words that a field accepts, for each such field in the manifests. */
    private static final Map<String, Set<String>> WORDS = Map.ofEntries(
            Map.entry("clusterIP", Set.of("None")),
            Map.entry("externalTrafficPolicy", Set.of("Cluster", "Local")),
            Map.entry("drop", Set.of("ALL")),
            Map.entry("imagePullPolicy", Set.of("Always", "IfNotPresent", "Never")),
            Map.entry("metrics.type", Set.of("ContainerResource", "External", "Object", "Pods", "Resource")),
            Map.entry("pathType", Set.of("Exact", "ImplementationSpecific", "Prefix")),
            Map.entry("policies.type", Set.of("Percent", "Pods")),
            Map.entry("policyTypes", Set.of("Egress", "Ingress")),
            Map.entry("protocol", Set.of("SCTP", "TCP", "UDP")),
            Map.entry("scheme", Set.of("HTTP", "HTTPS")),
            Map.entry("seccompProfile.type", Set.of("Localhost", "RuntimeDefault", "Unconfined")),
            Map.entry("spec.type", Set.of("ClusterIP", "LoadBalancer", "NodePort")),
            Map.entry("target.type", Set.of("AverageValue", "Utilization", "Value")),
            Map.entry("whenUnsatisfiable", Set.of("DoNotSchedule", "ScheduleAnyway")));

    /** Fields whose values begin with a capital like Kubernetes' words, but are free text. */
    private static final Set<String> NAMES = Set.of("kind", "name", "app.kubernetes.io/managed-by");

    /** Accepts only the model's fields, no text as a number, and no number as a text. */
    private static final ObjectMapper STRICT = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .withCoercionConfig(
                    LogicalType.Textual,
                    config -> config.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
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
    void manifestIsValid(String file) throws IOException {
        HasMetadata manifest = read(file);

        assertThat(manifest.getMetadata().getName()).startsWith("weir-gateway");
    }

    @ParameterizedTest(name = "{0} without {1}")
    @CsvSource({
        "deployment.yaml, /spec/selector",
        "deployment.yaml, /spec/template/spec/containers/0/name",
        "deployment.yaml, /spec/template/spec/containers/0/ports/1/containerPort",
        "deployment.yaml, /spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef/key",
        "deployment.yaml, /spec/template/spec/topologySpreadConstraints/0/maxSkew",
        "service.yaml, /spec/ports/0/port",
        "autoscaler.yaml, /spec/scaleTargetRef/kind",
        "autoscaler.yaml, /spec/metrics/0/pods/metric",
        "network-policy.yaml, /spec/egress/1/to/0/ipBlock/cidr"
    })
    void detectsAMissingRequiredField(String file, String path) throws IOException {
        JsonNode manifest = yaml(MANIFESTS.resolve(file));
        JsonPointer field = JsonPointer.compile(path);
        String name = field.last().getMatchingProperty();
        assertThat(((ObjectNode) manifest.at(field.head())).remove(name)).isNotNull();

        assertThatThrownBy(() -> manifest(file, manifest)).hasMessageContaining("required field `" + name + "`");
    }

    @ParameterizedTest(name = "{0} with {1}: {2}")
    @CsvSource(delimiter = '|', textBlock = """
            service.yaml         | /spec/ports/0/prot                                                | 80
            service.yaml         | /spec/ports                                                       | {}
            service.yaml         | /spec/selector/app.kubernetes.io~1name                            | 80
            service-account.yaml | /automountServiceAccountToken                                     | "no"
            deployment.yaml      | /spec/template/spec/containers/0/ports/0/containerPort            | "8080"
            deployment.yaml      | /spec/template/spec/containers/0/args/0                           | true
            deployment.yaml      | /spec/template/spec/topologySpreadConstraints/0/whenUnsatisfiable | "Anyway"
            deployment.yaml      | /spec/template/spec/securityContext/seccompProfile/type           | "Runtime"
            deployment.yaml      | /spec/template/spec/restartPolicy                                 | "Sometimes"
            autoscaler.yaml      | /spec/metrics/0/type                                              | "pods"
            network-policy.yaml  | /spec/policyTypes/0                                               | "Inbound"
            network-policy.yaml  | /spec/egress/0/ports/0/protocol                                   | "udp"
            """)
    void detectsAnInvalidValue(String file, String path, String value) throws IOException {
        JsonNode manifest = yaml(MANIFESTS.resolve(file));
        JsonPointer field = JsonPointer.compile(path);
        JsonPointer named = field.last().getMatchingIndex() < 0 ? field : field.head();
        if (manifest.at(field.head()) instanceof ArrayNode array) {
            array.set(field.last().getMatchingIndex(), STRICT.readTree(value));
        } else {
            ((ObjectNode) manifest.at(field.head())).set(field.last().getMatchingProperty(), STRICT.readTree(value));
        }

        assertThatThrownBy(() -> manifest(file, manifest))
                .hasMessageContaining(named.last().getMatchingProperty());
    }

    @Test
    void kustomizationListsEveryManifest() throws IOException {
        assertThat(yaml(MANIFESTS.resolve("kustomization.yaml")).at("/resources"))
                .map(JsonNode::asText)
                .containsExactlyInAnyOrderElementsOf(Stream.concat(Stream.of("../../config"), manifestsIn(""))
                        .toList());
        assertThat(yaml(MANIFESTS.resolve("prometheus-operator/kustomization.yaml"))
                        .at("/resources"))
                .map(JsonNode::asText)
                .containsExactlyInAnyOrderElementsOf(
                        manifestsIn("prometheus-operator").toList());
    }

    /** A cluster without the operator refuses its kinds, and with them the whole base. */
    @Test
    void theBaseHasNoKindsOfTheOperator() throws IOException {
        for (String file : manifestsIn("").toList()) {
            assertThat(read(file).getApiVersion()).as(file).doesNotContain("monitoring");
        }
    }

    @Test
    void exampleAddsTheOperatorAndAnIngressWithTls() throws IOException {
        JsonNode example = yaml(MANIFESTS.resolve("../kubernetes-example/kustomization.yaml"));
        var ingress = ((Ingress) read("../kubernetes-example/ingress.yaml")).getSpec();

        assertThat(example.at("/resources")).map(JsonNode::asText).containsExactly("../kubernetes", "ingress.yaml");
        assertThat(example.at("/components"))
                .map(JsonNode::asText)
                .containsExactly("../kubernetes/prometheus-operator");
        assertThat(ingress.getTls().getFirst().getHosts())
                .containsExactly(ingress.getRules().getFirst().getHost());
        var backend = ingress.getRules()
                .getFirst()
                .getHttp()
                .getPaths()
                .getFirst()
                .getBackend()
                .getService();
        Service service = (Service) read("service.yaml");
        assertThat(backend.getName()).isEqualTo(service.getMetadata().getName());
        assertThat(backend.getPort().getName())
                .isEqualTo(service.getSpec().getPorts().getFirst().getName());
    }

    /** Kustomize refuses a cycle: an overlay in a folder of its base. */
    @Test
    void noKustomizationUsesAFolderThatContainsIt() throws IOException {
        for (String folder : List.of("", "prometheus-operator", "../kubernetes-example", "../../config")) {
            Path own = MANIFESTS.resolve(folder).toAbsolutePath().normalize();
            JsonNode kustomization = yaml(own.resolve("kustomization.yaml"));
            for (String field : List.of("/resources", "/components")) {
                for (JsonNode used : kustomization.at(field)) {
                    Path path = own.resolve(used.asText()).normalize();
                    assertThat(path).exists();
                    assertThat(own.startsWith(path))
                            .as(folder + " uses " + used)
                            .isFalse();
                }
            }
        }
    }

    /** Without the policy, Kubernetes pulls the tag latest, which no registry has. */
    @Test
    void anImageThatIsLoadedIntoTheNodesIsNotPulled() throws IOException {
        assertThat(gateway(pod()).getImagePullPolicy()).isEqualTo("IfNotPresent");
        assertThat(yaml(MANIFESTS.resolve("kustomization.yaml"))
                        .at("/images/0/newTag")
                        .asText())
                .isEqualTo("latest");
    }

    @Test
    void prometheusRuleHasTheRulesOfPrometheus() throws IOException {
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

    /** A Service named server would set SERVER_PORT. */
    @Test
    void noVariablesOfServicesReachTheGateway() throws IOException {
        assertThat(pod().getEnableServiceLinks()).isFalse();
    }

    @Test
    void gracePeriodIsLongerThanTheDrain() throws IOException {
        PodSpec pod = pod();
        Duration drain = setting("drain.delay").plus(setting("drain.timeout"));
        Long preStop = gateway(pod).getLifecycle().getPreStop().getSleep().getSeconds();

        assertThat(Duration.ofSeconds(pod.getTerminationGracePeriodSeconds()))
                .isGreaterThan(drain.plusSeconds(preStop).plusSeconds(5));
    }

    @Test
    void readinessFailsBeforeTheDrainRefuses() throws IOException {
        Probe readiness = gateway(pod()).getReadinessProbe();
        int unreadyAfter =
                readiness.getPeriodSeconds() * readiness.getFailureThreshold() + readiness.getTimeoutSeconds();

        assertThat(Duration.ofSeconds(unreadyAfter)).isLessThan(setting("drain.delay"));
    }

    @Test
    void containerPortsAreTheGateways() throws IOException {
        Container gateway = gateway(pod());
        JsonNode production = yaml(PRODUCTION);

        assertThat(gateway.getPorts())
                .extracting(port -> port.getName() + ' ' + port.getContainerPort())
                .containsExactly(
                        "http " + production.at("/server/port").asInt(),
                        "management " + production.at("/management/server/port").asInt());
    }

    @Test
    void probesUseTheManagementPort() throws IOException {
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
    void servicesTargetTheGatewaysPorts() throws IOException {
        assertThat(((Service) read("service.yaml")).getSpec().getPorts())
                .extracting(port -> port.getTargetPort().getStrVal())
                .containsExactly("http");
        assertThat(((Service) read("service-headless.yaml")).getSpec().getPorts())
                .extracting(port -> port.getName() + ' ' + port.getTargetPort().getStrVal())
                .containsExactly("management management");
        assertThat(((ServiceMonitor) read(SERVICE_MONITOR)).getSpec().getEndpoints())
                .extracting(endpoint -> endpoint.getPort() + ' ' + endpoint.getPath())
                .containsExactly("management /actuator/prometheus");
    }

    @Test
    void prometheusHasTheReadOnlyTokenOfTheGateway() throws IOException {
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

        var management = yaml(PRODUCTION).at("/weir/management");
        assertThat(gateway.getEnv())
                .extracting(variable -> "${" + variable.getName() + "}")
                .containsExactly(
                        management.at("/token").asText(),
                        management.at("/read-only-token").asText());
        var token = gateway.getEnv().getLast();
        var credentials = ((ServiceMonitor) read(SERVICE_MONITOR))
                .getSpec()
                .getEndpoints()
                .getFirst()
                .getAuthorization()
                .getCredentials();
        assertThat(credentials).isEqualTo(token.getValueFrom().getSecretKeyRef());
    }

    /** Prometheus scrapes by the pod's address, or by a name of the headless service. */
    @Test
    void productionAllowsTheNamesOfTheHeadlessServiceAsHosts() throws IOException {
        String service = read("service-headless.yaml").getMetadata().getName();
        List<String> allowed = yaml(PRODUCTION)
                .at("/weir/management/allowed-hosts")
                .valueStream()
                .map(JsonNode::asText)
                .toList();

        for (String suffix : List.of("", ".weir", ".weir.svc", ".weir.svc.cluster.local")) {
            String host = service + suffix;
            assertThat(allowed)
                    .as(host)
                    .anyMatch(name -> name.equals(host) || (name.startsWith("*.") && host.endsWith(name.substring(1))));
        }
    }

    @Test
    void rolloutEvictionAndAutoscalerKeepAGatewayRunning() throws IOException {
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
                .as("replicas, which the autoscaler sets")
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
    void autoscalerFollowsRequestsInFlightAndProcessors() throws IOException {
        var metrics =
                ((HorizontalPodAutoscaler) read("autoscaler.yaml")).getSpec().getMetrics();

        assertThat(metrics).extracting("type").containsExactly("Pods", "Resource");
        var inFlight = metrics.getFirst().getPods();
        assertThat(inFlight.getMetric().getName()).isEqualTo("weir_inflight_share");
        // Below the 1.0 at which the gateway refuses, and below WeirGatewayNearLimit's 0.8.
        assertThat(inFlight.getTarget().getAverageValue().getNumericalAmount())
                .isBetween(new BigDecimal("0.1"), new BigDecimal("0.7"));
        assertThat(metrics.getLast().getResource().getName()).isEqualTo("cpu");
    }

    @Test
    void networkPolicyRestrictsTheManagementPortAndTheMetadataService() throws IOException {
        var policy = ((NetworkPolicy) read("network-policy.yaml")).getSpec();

        assertThat(policy.getPolicyTypes()).containsExactlyInAnyOrder("Ingress", "Egress");
        for (var ingress : policy.getIngress()) {
            assertThat(ingress.getPorts())
                    .as("ports, since a rule without ports allows all")
                    .hasSize(1);
            if (ingress.getFrom().isEmpty()) {
                assertThat(ingress.getPorts().getFirst().getPort().getStrVal()).isEqualTo("http");
            } else {
                assertThat(ingress.getPorts().getFirst().getPort().getStrVal()).isEqualTo("management");
                assertThat(ingress.getFrom()).hasSize(2);
                assertThat(ingress.getFrom().getFirst().getNamespaceSelector().getMatchLabels())
                        .isNotEmpty();
                // The other gateways, in the same namespace.
                assertThat(ingress.getFrom().getLast().getPodSelector()).isEqualTo(policy.getPodSelector());
                assertThat(ingress.getFrom().getLast().getNamespaceSelector()).isNull();
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
                        .extracting(
                                to -> to.getIpBlock().getCidr(),
                                to -> to.getIpBlock().getExcept())
                        .containsExactly(
                                tuple("0.0.0.0/0", List.of("169.254.169.254/32")),
                                tuple("::/0", List.of("fd00:ec2::254/128", "fd20:ce::254/128")));
            }
        }
        assertThat(policy.getEgress()).hasSize(2);
    }

    /**
     * Checks the selectors as written: Kustomize adds labels to some selectors only, and a missing selector
     * selects no pod in some kinds and every pod in others.
     */
    @Test
    void everySelectorSelectsTheGatewaysPods() throws IOException {
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
    void containerRunsAsTheImagesUser() throws IOException {
        var security = pod().getSecurityContext();

        assertThat(Files.readString(OPS.resolve("images/gateway/Dockerfile")))
                .contains("\nUSER %d:%d\n".formatted(security.getRunAsUser(), security.getRunAsGroup()));
    }

    @Test
    void containerHasRequestsAndAMemoryLimit() throws IOException {
        PodSpec pod = pod();
        var resources = gateway(pod).getResources();

        assertThat(Stream.of(
                                resources.getRequests().get("cpu"),
                                resources.getRequests().get("memory"),
                                pod.getVolumes().getLast().getEmptyDir().getSizeLimit())
                        .map(Quantity::getNumericalAmount))
                .allSatisfy(amount -> assertThat(amount).isPositive());
        assertThat(resources.getLimits())
                .containsExactly(Map.entry("memory", resources.getRequests().get("memory")));
    }

    @Test
    void containerHasNoPrivileges() throws IOException {
        PodSpec pod = pod();
        var security = gateway(pod).getSecurityContext();

        assertThat(pod.getSecurityContext().getRunAsNonRoot()).isTrue();
        assertThat(pod.getAutomountServiceAccountToken()).isFalse();
        assertThat(security.getReadOnlyRootFilesystem()).isTrue();
        assertThat(security.getAllowPrivilegeEscalation()).isFalse();
        assertThat(security.getCapabilities().getDrop()).containsExactly("ALL");
    }

    @Test
    void headlessServiceServesTheServiceMonitorAndClusterScope() throws IOException {
        Service headless = (Service) read("service-headless.yaml");
        ServiceMonitor monitor = (ServiceMonitor) read(SERVICE_MONITOR);

        assertThat(headless.getSpec().getClusterIP()).isEqualTo("None");
        assertThat(Files.readString(PRODUCTION))
                .contains("gateways: " + headless.getMetadata().getName() + " ");
        assertThat(monitor.getSpec().getSelector())
                .isEqualTo(new LabelSelectorBuilder()
                        .withMatchLabels(headless.getMetadata().getLabels())
                        .build());
        assertThat(headless.getMetadata().getLabels()).containsKey("app.kubernetes.io/component");
        assertThat(read("service.yaml").getMetadata().getLabels())
                .as("labels of the callers' service, which must not be scraped")
                .doesNotContainKey("app.kubernetes.io/component");
    }

    static Stream<String> manifests() throws IOException {
        List<String> all = new ArrayList<>(manifestsIn("").toList());
        for (String overlay : OVERLAYS) {
            manifestsIn(overlay).forEach(name -> all.add(overlay + '/' + name));
        }
        return all.stream();
    }

    private static Stream<String> manifestsIn(String folder) throws IOException {
        try (Stream<Path> files = Files.list(MANIFESTS.resolve(folder))) {
            return files
                    .map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".yaml") && !NO_MANIFESTS.contains(name))
                    .collect(Collectors.toCollection(TreeSet::new))
                    .stream();
        }
    }

    private static HasMetadata read(String file) throws IOException {
        return manifest(file, yaml(MANIFESTS.resolve(file)));
    }

    /** A manifest that is valid, as its type in Fabric8's model. */
    static HasMetadata manifest(String file, JsonNode document) throws IOException {
        String name =
                document.at("/apiVersion").asText() + "/" + document.at("/kind").asText();
        Kind kind = KINDS.get(name);
        if (kind == null) {
            throw new AssertionError("%s: %s is not among KINDS".formatted(file, name));
        }
        HasMetadata manifest = STRICT.treeToValue(document, kind.model());
        Schema schema = kind.schema();
        if (schema != null) {
            schema.check(JsonParser.parseString(document.toString()));
            assertThat(unknownWords("", document))
                    .as("%s: words that the field does not accept or that WORDS lacks", file)
                    .isEmpty();
        }
        return manifest;
    }

    /** Words that their field does not accept, and capitalised words in fields that WORDS lacks. */
    private static List<String> unknownWords(String field, JsonNode value) {
        List<String> unknownWords = new ArrayList<>();
        if (value.isObject()) {
            value.properties().forEach(property -> {
                String name = property.getKey();
                unknownWords.addAll(unknownWords(name.equals("type") ? field + ".type" : name, property.getValue()));
            });
        } else if (value.isArray()) {
            value.forEach(each -> unknownWords.addAll(unknownWords(field, each)));
        } else if (value.isTextual()) {
            String word = value.asText();
            Set<String> words = WORDS.get(field);
            if (words == null ? !NAMES.contains(field) && word.matches("[A-Z].*") : !words.contains(word)) {
                unknownWords.add(field + ": " + word);
            }
        }
        return unknownWords;
    }

    static PodSpec pod() throws IOException {
        return ((Deployment) read("deployment.yaml")).getSpec().getTemplate().getSpec();
    }

    private static Container gateway(PodSpec pod) {
        assertThat(pod.getContainers()).hasSize(1);
        return pod.getContainers().getFirst();
    }

    /** A duration in the deployed configuration. */
    private static Duration setting(String path) throws IOException {
        String value = yaml(PRODUCTION).at("/weir/" + path.replace('.', '/')).asText();
        return DurationStyle.detectAndParse(value);
    }

    private static JsonNode yaml(Path file) throws IOException {
        return yaml(Files.readString(file)).getFirst();
    }

    /** The documents of a text, without empty ones. */
    static List<JsonNode> yaml(String text) {
        List<JsonNode> documents = new ArrayList<>();
        for (Object document : new Yaml().loadAll(text)) {
            if (document != null) {
                documents.add(STRICT.valueToTree(document));
            }
        }
        return documents;
    }
}
