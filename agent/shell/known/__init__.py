"""What is known of programs and their options, as data: each row names the manual that says so."""
