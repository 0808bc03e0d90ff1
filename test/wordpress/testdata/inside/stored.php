<?php
// Prints every option of the database that the plugin made.
require __DIR__ . '/load.php';
global $wpdb;
foreach ( $wpdb->get_results( "SELECT option_name, option_value FROM {$wpdb->options} WHERE option_name LIKE '%interlock%'" ) as $interlock_test_row ) {
	echo $interlock_test_row->option_name, ' = ', $interlock_test_row->option_value, "\n";
}
