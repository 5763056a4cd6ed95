# Completion of ccm-push for bash, alone: the package bash-completion is not needed.
# What stands on the line is never evaluated.

# __ccm_push_unquote TEXT sets REPLY to the word that TEXT means, open to the quote that is
# still open at its end, and from to where readline begins to replace in REPLY: behind the last
# character of COMP_WORDBREAKS, or behind the quote.
__ccm_push_unquote() {
    local text=$1 c i
    REPLY='' open='' from=0
    for ((i = 0; i < ${#text}; i++)); do
        c=${text:i:1}
        if [[ $open == \' && $c != \' ]]; then
            REPLY+=$c
        elif [[ -n $open && $c == "$open" ]]; then
            open=''
        elif [[ $c == \\ ]]; then
            ((++i))
            REPLY+=${text:i:1}
        elif [[ -z $open && $c == [\"\'] ]]; then
            open=$c from=${#REPLY}
        else
            REPLY+=$c
            [[ -z $open && $COMP_WORDBREAKS == *"$c"* ]] && from=${#REPLY}
        fi
    done
    [[ $text == '~/'* ]] && REPLY=$HOME${REPLY:1}
}

# __ccm_push_quote TEXT sets REPLY to how TEXT is written behind the quote that is open.
__ccm_push_quote() {
    REPLY=$1
    if [[ $open == \' ]]; then
        REPLY=${REPLY//\'/\'\\\'\'}
    elif [[ $open == \" ]]; then
        REPLY=${REPLY//\\/\\\\}
        REPLY=${REPLY//\"/\\\"}
        REPLY=${REPLY//\$/\\\$}
        REPLY=${REPLY//\`/\\\`}
    elif [[ $REPLY == *[!A-Za-z0-9_.,:/@%+=#-]* || $REPLY == '#'* ]]; then
        printf -v REPLY '%q' "$REPLY"
    fi
    # readline closes the quote, but not behind what looks like its end.
    [[ -n $open && $REPLY == *"$open" ]] && REPLY+=$open
}

__ccm_push() {
    local line=${COMP_LINE:0:COMP_POINT} program word REPLY open from i
    local -a words=() plain=()
    # bash has taken words apart at : and = too. What no blank separates is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if [[ $i == 0 || $line == [[:blank:]]* ]]; then
            line=${line#"${line%%[![:blank:]]*}"}
            words+=('')
        fi
        word=${COMP_WORDS[i]}
        [[ $i == "$COMP_CWORD" ]] && word=$line
        words[${#words[@]} - 1]+=$word
        line=${line#"$word"}
    done
    __ccm_push_unquote "${words[0]}"
    program=$REPLY
    [[ $program == */ccm-push ]] || program=ccm-push
    for word in "${words[@]:1}"; do
        __ccm_push_unquote "$word"
        plain+=("$REPLY")
    done

    local typed=$REPLY flag='' lines directive=0
    [[ $typed == -*=* ]] && flag=${typed%%=*}=
    lines=$(command "$program" __complete "${plain[@]}" 2>/dev/null) || return
    local -a names=() about=()
    local tab=$'\t' width=0 described=''
    while IFS= read -r line; do
        if [[ $line == :[0-9]* ]]; then # the last one
            directive=${line#:}
            continue
        fi
        word=$flag${line%%"$tab"*}
        [[ $word == "$typed"* ]] || continue
        names+=("$word")
        about+=('')
        if [[ $line == *"$tab"* ]]; then
            about[${#about[@]} - 1]=${line#*"$tab"}
            described=yes
        fi
    done <<<"$lines"
    ((directive & 2)) && compopt -o nospace 2>/dev/null
    ((directive & 32)) && compopt -o nosort 2>/dev/null
    if ((directive & 4 || directive & 1)); then
        compopt +o default +o bashdefault 2>/dev/null
    elif ((${#names[@]} > 0)); then # else readline completes files by itself
        while IFS= read -r word; do
            [[ -n $word ]] || continue
            [[ -d $word ]] && word+=/
            names+=("$flag$word")
            about+=('')
        done < <(compgen -f -- "${typed#"$flag"}")
        [[ ${#names[@]} == 1 && ${names[0]} == */ ]] && compopt -o nospace 2>/dev/null
    fi

    COMPREPLY=()
    local before=${typed:0:from}
    for word in "${names[@]}"; do
        __ccm_push_quote "${word#"$before"}"
        COMPREPLY+=("$REPLY")
        ((${#REPLY} > width)) && width=${#REPLY}
    done
    # Descriptions are for a list; COMP_TYPE is ? or ! or @ when there will be one.
    if [[ -n $described && ${#names[@]} -gt 1 && " 63 33 64 " == *" $COMP_TYPE "* ]]; then
        for ((i = 0; i < ${#names[@]}; i++)); do
            [[ -n ${about[i]} ]] && printf -v "COMPREPLY[$i]" '%-*s  (%s)' "$width" "${COMPREPLY[i]}" "${about[i]}"
        done
    fi
}

complete -o default -o bashdefault -F __ccm_push ccm-push
