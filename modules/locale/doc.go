// Package locale is the resource type "locale": a locale of the host, and the one that it has by default.
package locale
