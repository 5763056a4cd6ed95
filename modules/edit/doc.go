// Package edit is the common part of types that manage a part of a file: a line, a block, an option. A [File] is read,
// split into a [Text], changed, and written back as a whole; the rest of the file is not changed. [Text.Keep] and
// [Text.KeepLine] add, change and remove the lines of one entry, [Place] is the place of a new line, [Block] is lines
// between two markers, and a [Restore] restores the earlier lines, whatever else has changed in the file since.
package edit
