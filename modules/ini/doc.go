// Package ini is the resource type "ini": an option in a section of a file such as those of systemd, git and php, whose
// other lines are managed elsewhere.
package ini
