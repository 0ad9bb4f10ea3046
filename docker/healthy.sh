#!/usr/bin/env bash
# healthy PORT PATH [https]: succeeds if GET answers 200. With https, the server must present the
# console's certificate, DOORBUSTER_LAB_TLS_CERTIFICATE. A Python program would use the shop's CPU every
# few seconds.
request="GET $2 HTTP/1.0\r\nHost: 127.0.0.1\r\nUser-Agent: doorbuster-health\r\n\r\n"
if [[ ${3:-http} == https ]]; then
  IFS= read -r -t 5 status < <(printf '%b' "$request" | timeout 5 openssl s_client -quiet \
    -connect "127.0.0.1:$1" -CAfile "$DOORBUSTER_LAB_TLS_CERTIFICATE" -partial_chain -verify_return_error \
    2>/dev/null)
else
  exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
  printf '%b' "$request" >&3
  IFS= read -r -t 5 status <&3
fi
[[ $status == HTTP/1.[01]\ 200* ]]
