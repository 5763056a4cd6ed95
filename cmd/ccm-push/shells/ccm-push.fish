# Completion of ccm-push for fish. What stands on the line is never evaluated.

function __ccm_push_complete
    set -l words (commandline -pcx 2>/dev/null; or commandline -pco)
    set -l raw (commandline -ct)
    set -l word (string unescape -- "$raw"; or string replace -r '^["\']' '' -- "$raw")
    set word (string replace -r '^~/' "$HOME/" -- "$word")
    set -l program ccm-push
    string match -q '*/ccm-push' -- $words[1]; and set program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set words (string replace -r '^~/' "$HOME/" -- $words)
    set -l lines (command $program __complete $words "$word" 2>/dev/null)
    set -l directive (string match -rg '^:([0-9]+)$' -- $lines[-1]); or return
    test (math "bitand($directive, 1)") = 0; or return
    set -e lines[-1]
    # The value of --flag=value is completed with its flag.
    set -l flag (string match -r -- '^-[^=]*=' "$word")
    for line in $lines
        printf '%s%s\n' "$flag" "$line"
    end
    if test (math "bitand($directive, 4)") = 0
        for path in (__fish_complete_path (string replace -r '^-[^=]*=' '' -- "$word"))
            printf '%s%s\n' "$flag" "$path"
        end
    end
end

complete -c ccm-push -e
complete -c ccm-push -f -k -a '(__ccm_push_complete)'
# Below ~ only fish itself finds files.
complete -c ccm-push -F -n 'string match -q "~/*" -- (commandline -ct)'
