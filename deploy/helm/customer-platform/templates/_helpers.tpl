{{/* Labels that select pods. Of: root, name (of the deployable). */}}
{{- define "platform.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{/* Labels of a resource of one deployable. Of: root, name. */}}
{{- define "platform.labels" -}}
{{ include "platform.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* Name of a resource of one deployable. Of: root, name. */}}
{{- define "platform.name" -}}
{{ printf "%s-%s" .root.Release.Name .name }}
{{- end }}

{{/* All values of one deployable. Of: root, name. */}}
{{- define "platform.deployable" -}}
{{ mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.deployables .name)) | toYaml }}
{{- end }}

{{/* Image of a deployable. Of: root, name, tag (empty: the version in its package.json). */}}
{{- define "platform.image" -}}
{{- $versions := .root.Files.Get "files/versions.yaml" | fromYaml }}
{{- printf "%s/%s:%s" (.root.Values.image.registry | trimSuffix "/") .name (.tag | default (index $versions .name)) }}
{{- end }}

{{/*
Not empty if the database exists before the release is applied. On installation a database of the release itself does not. Jobs are
hooks if it exists. Else they are ordinary Jobs next to the processes, which restart until their roles exist.
*/}}
{{- define "platform.databaseIsThere" -}}
{{- if not (and .Values.postgresql.cluster.enabled .Release.IsInstall) }}yes{{ end }}
{{- end }}

{{/*
Name of a Job. An ordinary Job has its own name, because a rollback to the installation would conflict with a hook of the same name.
Of: root, name.
*/}}
{{- define "platform.jobName" -}}
{{ include "platform.name" . }}{{ if not (include "platform.databaseIsThere" .root) }}-first{{ end }}
{{- end }}

{{/* Nodes for a deployable's pods, and secrets to pull its image. Of: root, values (of the deployable). */}}
{{- define "platform.placement" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Security context of all our containers. */}}
{{- define "platform.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Security context of all pods. Of: user. */}}
{{- define "platform.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Variable whose value comes from a Secret. Of: variable, secret, key. */}}
{{- define "platform.secretVariable" -}}
- name: {{ .variable }}
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .key }} } }
{{- end }}

{{- define "platform.databaseHost" -}}
{{- $database := .Values.postgresql }}
{{- if $database.cluster.enabled }}{{ $database.cluster.name }}-rw
{{- else }}{{ required "postgresql.host: must say where PostgreSQL is, or set postgresql.cluster.enabled" $database.host }}
{{- end }}
{{- end }}

{{/* URL of the database. Of: root, user, password (name of a variable). */}}
{{- define "platform.databaseUrl" -}}
{{- $database := .root.Values.postgresql -}}
postgres://{{ .user }}:$({{ .password }})@{{ include "platform.databaseHost" .root }}:{{ $database.port }}/{{ $database.database }}
{{- with $database.parameters }}?{{ . }}{{ end }}
{{- end }}

{{/* URLs of NATS. Of: root, name, password (name of a variable). */}}
{{- define "platform.natsUrl" -}}
{{- $scheme := ternary "tls" "nats" .root.Values.nats.tls }}
{{- $user := printf "%s:$(%s)@" .name .password }}
{{- $urls := list }}
{{- range $index, $server := .root.Values.nats.servers }}
{{- $urls = append $urls (printf "%s://%s%s" $scheme (ternary $user "" (eq $index 0)) $server) }}
{{- end }}
{{- join "," $urls }}
{{- end }}

{{- define "platform.redisUrl" -}}
{{- $own := printf "%s-redis" .Release.Name }}
{{- $host := ternary $own .Values.redis.host .Values.redis.enabled }}
{{- ternary "rediss" "redis" .Values.redis.tls }}://:$(REDIS_PASSWORD)@
{{- required "redis.host: must say where Redis is, or set redis.enabled" $host }}:{{ .Values.redis.port }}
{{- end }}

{{/* Seconds until a terminating pod is killed. Consumers, jobs and connections end after both drains. */}}
{{- define "platform.graceSeconds" -}}
{{ add (ceil .Values.drain.delaySeconds) (ceil .Values.drain.seconds) 15 }}
{{- end }}

{{/* Mount of the authority's certificate. */}}
{{- define "platform.trustMount" -}}
- { name: trust, mountPath: /etc/customer-platform/trust, readOnly: true }
{{- end }}

{{- define "platform.trustVolume" -}}
{{- $items := printf "[{ key: %s, path: ca.crt }]" .Values.trust.key -}}
- name: trust
  {{- if .Values.trust.secret }}
  secret: { secretName: {{ .Values.trust.secret }}, items: {{ $items }} }
  {{- else }}
  configMap: { name: {{ .Values.trust.configMap }}, items: {{ $items }} }
  {{- end }}
{{- end }}

{{/* Not empty if the release has its own proxy in front of the gateway. An Ingress replaces it. */}}
{{- define "platform.hasProxy" -}}
{{- if and .Values.proxy.enabled (not .Values.public.ingress.enabled) }}yes{{ end }}
{{- end }}

{{- define "platform.trusts" -}}
{{- if or .Values.trust.secret .Values.trust.configMap }}yes{{ end }}
{{- end }}
