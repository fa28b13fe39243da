{{/*
Variables of one deployable. Secrets come first, by reference, so that the URLs after them can contain them. A setting that is a
secret itself, such as a whole DATABASE_URL, is not composed. Of: root, name, values (of the deployable).
*/}}
{{- define "platform.environment" -}}
{{- $root := .root }}
{{- $upper := upper .name }}
{{- $database := printf "ROLE_PASSWORD_%s" $upper }}
{{- $nats := printf "NATS_PASSWORD_%s" $upper }}
{{- $secrets := dict "CONTEXT_SECRET" "CONTEXT_SECRET" }}
{{- $composed := dict }}
{{- if not (hasKey .values.secrets "DATABASE_URL") }}
{{- $_ := set $secrets $database $database }}
{{- $url := include "platform.databaseUrl" (dict "root" $root "user" (printf "platform_%s" .name) "password" $database) }}
{{- $_ := set $composed "DATABASE_URL" $url }}
{{- end }}
{{- if not (hasKey .values.secrets "NATS_URL") }}
{{- $_ := set $secrets $nats $nats }}
{{- $_ := set $composed "NATS_URL" (include "platform.natsUrl" (dict "root" $root "name" .name "password" $nats)) }}
{{- end }}
{{- if and (eq .name "gateway") (not (hasKey .values.secrets "REDIS_URL")) }}
{{- $_ := set $secrets "REDIS_PASSWORD" "REDIS_PASSWORD" }}
{{- $_ := set $composed "REDIS_URL" (include "platform.redisUrl" $root) }}
{{- end }}
{{- range $variable, $key := mergeOverwrite $secrets .values.secrets }}
{{ include "platform.secretVariable" (dict "variable" $variable "secret" $root.Values.existingSecret "key" $key) }}
{{- end }}
{{- $fixed := include "platform.fixedSettings" . | fromYaml }}
{{- range $variable, $value := mergeOverwrite (deepCopy $root.Values.config) .values.config $composed $fixed }}
- { name: {{ $variable }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{/* Settings derived from other values, so that both always agree. Of: root, name, values. */}}
{{- define "platform.fixedSettings" -}}
{{- $values := .root.Values -}}
HOST: 0.0.0.0
DRAIN_DELAY_SECONDS: {{ $values.drain.delaySeconds | quote }}
DRAIN_SECONDS: {{ $values.drain.seconds | quote }}
{{- if eq .name "gateway" }}
GATEWAY_HOST: 0.0.0.0
GATEWAY_PORT: '8080'
ADMIN_HOST: 0.0.0.0
ADMIN_PORT: '8081'
UPLOAD_DIRECTORY: /tmp
{{- range $name := without (keys $values.deployables | sortAlpha) "gateway" }}
{{ upper $name }}_URL: http://{{ include "platform.name" (dict "root" $.root "name" $name) }}:8080
{{- end }}
{{- else }}
PORT: '8080'
{{- end }}
{{- if .values.outbound }}
WEBHOOKS_ALLOWED_RANGES: {{ join "," $values.outboundAllowedRanges | quote }}
{{- end }}
{{- if eq .name "messaging" }}
PUBLIC_URL: {{ $values.publicUrl | trimSuffix "/" | quote }}
{{- end }}
{{- if $values.metrics.enabled }}
OTEL_METRICS_EXPORTER: prometheus
OTEL_EXPORTER_PROMETHEUS_HOST: 0.0.0.0
OTEL_EXPORTER_PROMETHEUS_PORT: {{ $values.metrics.port | quote }}
{{- end }}
{{- if include "platform.trusts" .root }}
NODE_EXTRA_CA_CERTS: /etc/customer-platform/trust/ca.crt
{{- if $values.nats.tls }}
NATS_TLS_CA_FILE: /etc/customer-platform/trust/ca.crt
{{- end }}
{{- end }}
{{- end }}
