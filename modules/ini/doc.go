// Package ini is the resource type "ini": an option in a section of an ini file, such as files of systemd, git and php.
// It changes no other lines of the file.
package ini
