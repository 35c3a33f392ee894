{{- /* Every section of every page with its address. */ -}}
{{- $rows := slice -}}
{{- range site.Pages -}}
  {{- $page := . -}}
  {{- range $i, $part := split (replace .Content "<h3 id=\"" "<h2 id=\"") "<h2 id=\"" -}}
    {{- $address := strings.TrimPrefix "/" $page.RelPermalink -}}
    {{- $heading := "" -}}
    {{- if $i -}}
      {{- $address = print $address "#" (index (findRE `^[^"]*` $part 1) 0) -}}
      {{- $heading = index (findRESubmatch `(?s)^[^>]*>(.*?)</h` $part 1) 0 1 | plainify | htmlUnescape -}}
      {{- $part = replaceRE `(?s)^[^>]*>.*?</h[23]>` "" $part -}}
    {{- end -}}
    {{- $text := replaceRE `\s+` " " ($part | plainify | htmlUnescape) -}}
    {{- $rows = $rows | append (dict "address" $address "page" (partial "title.html" $page) "section" $heading "text" $text) -}}
  {{- end -}}
{{- end -}}
searchIndex({{ $rows | jsonify }});
