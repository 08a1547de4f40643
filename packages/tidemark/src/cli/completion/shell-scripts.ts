/**
 * Bash breaks words at `:` and `=`, too, and replaces only what follows the last of them. The first word is run as it
 * was typed. Also for bash 3.2, which macOS has.
 */
const BASH = `_tidemark() {
  local line="\${COMP_LINE:0:COMP_POINT}" words word typed kept
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=('')
  typed="\${words[\${#words[@]}-1]}"
  kept="\${typed%"\${typed##*[:=]}"}"
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("\${word#"$kept"}")
  done < <("$1" completion words -- "\${words[@]:1}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == */ ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -o default -F _tidemark tidemark
`

/** Works as a file in \`fpath\` and when it is sourced. */
const ZSH = `#compdef tidemark
_tidemark() {
  local -a found
  found=("\${(@f)$("\${words[1]}" completion words -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if (( \${#found} == 0 )); then
    _files
    return
  fi
  compadd -S '' -- \${(M)found:#*/}
  compadd -- \${found:#*/}
}
if [ "\${funcstack[1]}" = _tidemark ]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
`

const FISH = `function __tidemark_words
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l found ($program completion words -- $words "$typed" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$typed"
    end
end
complete -c tidemark -f -a '(__tidemark_words)'
`

/** By the name of the shell. */
export const SHELL_SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bash', BASH],
  ['zsh', ZSH],
  ['fish', FISH],
])
