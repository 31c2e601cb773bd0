package extension

import (
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/ecma"
	"github.com/mcpgen/mcpgen/generator/internal/importer"
)

// FillIn is the role that an author replaces, and File the file that an import writes.
const (
	FillIn = importer.FillIn
	File   = importer.File
)

// Package is the package that an import writes into.
type Package = importer.Package

// Open reads the package in a directory, which must exist. An empty name stands for the name of
// the package there, or one from the path.
func Open(dir, name string) (Package, error) { return importer.Open(dir, name) }

// Key is a key of a directive with its value, or nothing.
func Key(name, value string) string { return importer.Key(name, value) }

// Visible is a text on one line without hidden characters.
func Visible(text string) string { return importer.Visible(text) }

// Comment is a foreign text as the lines of a doc comment without directives.
func Comment(text string) string { return importer.Comment(text) }

// Doc is a foreign description of a func: its doc comment, or else a constant with this name.
func Doc(constant, text string) (doc, declaration string) { return importer.Doc(constant, text) }

// Identifier makes an exported Go name from a foreign one. other stands before a name that begins
// with no letter.
func Identifier(foreign, other string) string { return importer.Identifier(foreign, other) }

// Unique adds a number to a name that is taken.
func Unique(name string, taken func(string) bool) string { return importer.Unique(name, taken) }

// NearDirective reports whether a line of a comment, markers included, is nearly a directive.
func NearDirective(comment string) bool { return len(directive.Misses(comment)) > 0 }

// Pattern is a foreign regular expression as Go and JavaScript read it alike, or nothing.
func Pattern(text string) string { return ecma.Common(text) }
