// Package http is the resource type "http": a request to a web server, sent by the host, and its expected answer.
package http
