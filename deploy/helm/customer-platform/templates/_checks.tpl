{{/* Rejects values that the schema cannot check. Each message names the field and says what would be right. */}}
{{- define "platform.checks" -}}
{{- $known := .Files.Get "files/settings.yaml" | fromYaml }}
{{- if and .Values.trust.secret .Values.trust.configMap }}
{{- fail "trust: set secret or configMap, not both" }}
{{- end }}
{{- $every := index $known "every process" }}
{{- include "platform.settingsCheck" (dict "field" "config" "settings" .Values.config "known" $every) }}
{{- include "platform.settingsCheck" (dict "field" "defaults.config" "settings" .Values.defaults.config "known" $every) }}
{{- range $name, $own := .Values.deployables }}
{{- $names := concat $every (index $known $name | default list) }}
{{- include "platform.settingsCheck" (dict "field" (printf "deployables.%s.config" $name) "settings" $own.config "known" $names) }}
{{- range $setting, $key := $own.secrets }}
{{- if not (has $setting $names) }}
{{- fail (printf "deployables.%s.secrets.%s: is not a setting of %s; docs/reference/config.md lists all settings" $name $setting $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $setting, $key := .Values.defaults.secrets }}
{{- if not (has $setting $every) }}
{{- fail (printf "defaults.secrets.%s: is not a setting of every process; docs/reference/config.md lists all settings" $setting) }}
{{- end }}
{{- end }}
{{- include "platform.serverChecks" . }}
{{- if and .Values.public.ingress.enabled (not .Values.public.ingress.host) }}
{{- fail "public.ingress.host: set the gateway's host name, such as api.example.com" }}
{{- end }}
{{- if include "platform.hasProxy" . }}
{{- if not .Values.proxy.tlsSecret }}
{{- fail "proxy.tlsSecret: name the Secret of type kubernetes.io/tls that has the public URL's certificate" }}
{{- end }}
{{- if not .Values.deployables.gateway.config.TRUSTED_PROXIES }}
{{- fail "deployables.gateway.config.TRUSTED_PROXIES: set the cluster's pod range; without it every client seems to have the proxy's address" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Servers of this release have fixed ports, and names that begin with the release's name. */}}
{{- define "platform.serverChecks" -}}
{{- if and .Values.redis.enabled (or .Values.redis.tls (ne (int .Values.redis.port) 6379)) }}
{{- fail "redis.enabled: the chart's Redis has port 6379 and no TLS; omit redis.port and redis.tls, or use your own Redis" }}
{{- end }}
{{- if and .Values.postgresql.cluster.enabled (ne (int .Values.postgresql.port) 5432) }}
{{- fail "postgresql.port: is 5432 with postgresql.cluster.enabled; omit it" }}
{{- end }}
{{- if gt (len .Release.Name) 36 }}
{{- fail (printf "the release's name: has %d characters; it must have at most 36, so that resource names fit" (len .Release.Name)) }}
{{- end }}
{{- end }}

{{/* Of: field, settings, known (names of settings). Accepts variables of Node, malloc and OpenTelemetry, which are not listed. */}}
{{- define "platform.settingsCheck" -}}
{{- $secret := "^(DATABASE_((DIRECT|READ)_)?URL|NATS_URL|REDIS_URL|REDIS_SENTINEL_PASSWORD|CONTEXT_SECRET|ADMIN_TOKENS?|TRACE_TOKEN|[A-Z]+_SECRET_KEY|OTEL_EXPORTER_OTLP_HEADERS)$" }}
{{- $byValue := dict "DRAIN_DELAY_SECONDS" "drain.delaySeconds" "DRAIN_SECONDS" "drain.seconds" "PUBLIC_URL" "publicUrl"
  "WEBHOOKS_ALLOWED_RANGES" "outboundAllowedRanges" "NODE_EXTRA_CA_CERTS" "trust" "NATS_TLS_CA_FILE" "trust"
  "OTEL_EXPORTER_PROMETHEUS_HOST" "metrics.enabled" "OTEL_EXPORTER_PROMETHEUS_PORT" "metrics.port" "UPLOAD_DIRECTORY" "uploads" }}
{{- range $setting, $_ := .settings }}
{{- $field := printf "%s.%s" $.field $setting }}
{{- if regexMatch $secret $setting }}
{{- fail (printf "%s: is a secret; put it into the Secret that existingSecret names, and its key into secrets: { %s: <key> }" $field $setting) }}
{{- else if hasKey $byValue $setting }}
{{- fail (printf "%s: is set by the value %s" $field (index $byValue $setting)) }}
{{- else if or (regexMatch "^((GATEWAY|ADMIN)_)?(HOST|PORT)$" $setting) (regexMatch "^(AGENTS|CALENDAR|CATALOGUE|CDP|CRM|MESSAGING|WEBHOOKS)_URL$" $setting) }}
{{- fail (printf "%s: is set by the chart, which also creates the Services" $field) }}
{{- else if regexMatch "^(READY|NATS_[A-Z_]+)_FILE$" $setting }}
{{- fail (printf "%s: is a file, and the chart has no volume for it; for the authority of NATS' certificates set the value trust" $field) }}
{{- else if not (or (has $setting $.known) (regexMatch "^(NODE|OTEL|MALLOC|UV)_" $setting)) }}
{{- fail (printf "%s: is not a setting of this process; docs/reference/config.md lists all settings by process" $field) }}
{{- end }}
{{- end }}
{{- end }}
