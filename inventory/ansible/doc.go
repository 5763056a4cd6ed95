// Package ansible reads and prints text as ansible-core does: the lines of INI
// inventories ([INILines]), the Python literals and shell words in them ([Literal],
// [SplitWords]), what PyYAML takes a scalar for ([YAML]), and the JSON of
// ansible-inventory ([JSON], [Str], [Marked]).
//
// It works on texts and trees of yamlpos only. No file is opened here, and hosts and
// groups may not come in.
package ansible
