package events

import "github.com/ccm-push/ccm-push/inventory/printable"

// Line makes s harmless as a part of one line, see [printable.Line].
func Line(s string) string { return printable.Line(s) }

// Block is like [Line] for text of several lines, see [printable.Block].
func Block(s string) string { return printable.Block(s) }
