{{/* The name of all objects: weir-gateway for the release weir, as in ops/kubernetes. */}}
{{- define "weir.name" -}}
{{ printf "%s-gateway" .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "weir.selector" -}}
app.kubernetes.io/name: weir-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "weir.configuration" -}}
{{ .Values.configuration | default (.Files.Get "files/weir.yml") }}
{{- end }}

{{/* Of a probe: nothing for HTTP, Kubernetes' default. */}}
{{- define "weir.probeScheme" -}}
{{- if ne .Values.managementScheme "HTTP" }}, scheme: {{ .Values.managementScheme }}{{ end }}
{{- end }}
