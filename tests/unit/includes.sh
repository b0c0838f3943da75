#!/bin/sh
# Who may include whom: ir, and the runtime, nothing from outside; frontend, passes and codegen only ir, and the driver
# (frontend/main.c, frontend/driver*) everything; grammar only frontend.
cd "$(dirname "$0")/../.." || exit 1
status=0
files=0

# allow FOLDER REGEX: what includes in FOLDER that name another folder must look like
allow() {
  found=$(find "$1" -name '*.[chly]' ! -path frontend/main.c ! -path 'frontend/driver*')
  files=$((files + $(echo "$found" | wc -l)))
  bad=$(echo "$found" | xargs grep -nE '^ *# *include *"[^"]*/' | grep -vE "include *\"($2)")
  [ -z "$bad" ] && return
  echo "not allowed in $1/:"
  echo "$bad"
  status=1
}
allow ir '[a-z_]+/'
allow frontend '\.\./ir/'
allow passes '(\.\./)+ir/|(\.\./)?[a-z_]+\.h|(\.\./)?(search|sim)/'
allow codegen '\.\./ir/'
allow grammar '(\.\./)?frontend/'
allow runtime '(\.\./)?(common|host|cuda)/'
echo "$files files"
[ "$files" -gt 20 ] || { echo "too few: was something moved?"; exit 1; }
exit $status
