#compdef ccm-push
# Completion of ccm-push for zsh. What stands on the line is never evaluated.

_ccm-push() {
    local program=${${(Q)words[1]}/#\~\//$HOME/} line name directive
    [[ $program == */ccm-push ]] || program=ccm-push
    local -a before lines names shown options
    (( CURRENT > 2 )) && before=("${(@)${(@Q)words[2,CURRENT-1]}/#\~\//$HOME/}")
    lines=("${(@f)$(command $program __complete "${before[@]}" "${${(Q)PREFIX}/#\~\//$HOME/}" 2>/dev/null)}")
    directive=${lines[-1]#:}
    [[ $directive == <-> ]] && (( (directive & 1) == 0 )) || return 1
    lines[-1]=()
    for line in "${lines[@]}"; do
        name=${line%%$'\t'*}
        names+=("$name")
        if [[ $line == *$'\t'* ]]; then
            shown+=("$name  -- ${line#*$'\t'}")
            options=(-l)
        else
            shown+=("$name")
        fi
    done
    (( directive & 2 )) && options+=(-S '')
    if (( directive & 32 )); then options+=(-V ccm-push); else options+=(-J ccm-push); fi
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    compadd "${options[@]}" -d shown -a names
    (( directive & 4 )) || _files
}

# As a file of fpath this is the function itself; read by source, it is registered.
if [[ ${funcstack[1]} == _ccm-push ]]; then
    _ccm-push "$@"
else
    compdef _ccm-push ccm-push
fi
