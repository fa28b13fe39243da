{{/* Peers: pods of this release by deployable. Of: root, names. */}}
{{- define "platform.podPeers" -}}
- podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ .root.Chart.Name }}
      app.kubernetes.io/instance: {{ .root.Release.Name }}
    matchExpressions:
      - { key: app.kubernetes.io/component, operator: In, values: {{ .names | toJson }} }
{{- end }}

{{/* Selects pods of this release by deployable. Of: root, names. */}}
{{- define "platform.podSelector" -}}
matchLabels:
  app.kubernetes.io/name: {{ .root.Chart.Name }}
  app.kubernetes.io/instance: {{ .root.Release.Name }}
matchExpressions:
  - { key: app.kubernetes.io/component, operator: In, values: {{ .names | toJson }} }
{{- end }}

{{/* Head of a network policy. Of: root, name. */}}
{{- define "platform.policyHead" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "platform.name" . }}
  labels: {{- include "platform.labels" (dict "root" .root "name" "network") | nindent 4 }}
{{- end }}

{{- define "platform.databasePeers" -}}
{{- $database := .Values.postgresql }}
{{- if $database.cluster.enabled -}}
- podSelector: { matchLabels: { cnpg.io/cluster: {{ $database.cluster.name }} } }
{{- else if $database.peers -}}
{{ toYaml $database.peers }}
{{- else }}
{{- fail "postgresql.peers: must say where PostgreSQL is, such as [{ipBlock: {cidr: 10.1.0.0/16}}], or set networkPolicies.enabled: false" }}
{{- end }}
{{- end }}

{{- define "platform.natsPeers" -}}
{{- if .Values.nats.podLabels -}}
- podSelector:
    matchLabels: {{- toYaml .Values.nats.podLabels | nindent 6 }}
{{- else if .Values.nats.peers -}}
{{ toYaml .Values.nats.peers }}
{{- else }}
{{- fail "nats.peers: must say where NATS is, such as [{ipBlock: {cidr: 10.1.0.0/16}}], or nats.podLabels if it is in this namespace, or set networkPolicies.enabled: false" }}
{{- end }}
{{- end }}

{{/* Distinct ports of the NATS servers. */}}
{{- define "platform.natsPorts" -}}
{{- $ports := list }}
{{- range .Values.nats.servers }}{{ $ports = append $ports (splitList ":" . | last) }}{{ end }}
{{- range uniq $ports }}
- { protocol: TCP, port: {{ . }} }
{{- end }}
{{- end }}

{{- define "platform.redisPeers" -}}
{{- if .Values.redis.enabled -}}
{{ include "platform.podPeers" (dict "root" . "names" (list "redis")) }}
{{- else if .Values.redis.peers -}}
{{ toYaml .Values.redis.peers }}
{{- else }}
{{- fail "redis.peers: must say where Redis is, such as [{ipBlock: {cidr: 10.1.0.0/16}}], or set networkPolicies.enabled: false" }}
{{- end }}
{{- end }}
