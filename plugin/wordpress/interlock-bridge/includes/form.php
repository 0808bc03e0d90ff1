<?php
/**
 * The handler of the administrators' form: it asks, keeps the result for a
 * minute for this one person, and sends the browser back to the page.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

const INTERLOCK_BRIDGE_ACTION         = 'interlock_bridge_ask';
const INTERLOCK_BRIDGE_RESULT_SECONDS = 60;

/**
 * Handles admin-post.php?action=interlock_bridge_ask. Visitors who are not
 * signed in never get here.
 */
function interlock_bridge_handle_form(): void {
	if ( ! current_user_can( 'manage_options' ) ) {
		wp_die( esc_html__( 'Only administrators may send instructions.', 'interlock-bridge' ), '', array( 'response' => 403 ) );
	}
	check_admin_referer( INTERLOCK_BRIDGE_ACTION );
	if ( ! isset( $_SERVER['REQUEST_METHOD'] ) || 'POST' !== $_SERVER['REQUEST_METHOD'] ) {
		wp_die( esc_html__( 'Send the form of the Interlock page.', 'interlock-bridge' ), '', array( 'response' => 405 ) );
	}
	$instruction = isset( $_POST['instruction'] ) && is_string( $_POST['instruction'] ) ? sanitize_textarea_field( wp_unslash( $_POST['instruction'] ) ) : '';
	$form        = isset( $_POST['form'] ) && is_string( $_POST['form'] ) ? sanitize_key( wp_unslash( $_POST['form'] ) ) : '';
	if ( ! wp_is_uuid( $form, 4 ) ) {
		$form = wp_generate_uuid4();
	}
	if ( ! interlock_bridge_was_answered( $form, $instruction ) ) {
		interlock_bridge_keep_result( $form, $instruction, interlock_bridge_ask( $instruction, $form ) );
	}
	wp_safe_redirect( interlock_bridge_ask_url(), 303 );
	exit;
}

/**
 * Name of the transient that holds the signed-in person's last result.
 */
function interlock_bridge_result_name(): string {
	return 'interlock_bridge_result_' . get_current_user_id();
}

/**
 * The signed-in person's last result, at most a minute old.
 *
 * @return array|null Null where there is none.
 */
function interlock_bridge_last_result() {
	$result = get_transient( interlock_bridge_result_name() );
	return is_array( $result ) ? $result : null;
}

/**
 * Reports whether this very form with this instruction has its answer already.
 *
 * @param string $form        Id of the form.
 * @param string $instruction What was written in it.
 */
function interlock_bridge_was_answered( string $form, string $instruction ): bool {
	$last = interlock_bridge_last_result();
	return null !== $last && $last['form'] === $form && $last['instruction'] === $instruction && 'answered' === $last['status'];
}

/**
 * Keeps a result for the page that the browser is sent to.
 *
 * @param string         $form        Id of the form.
 * @param string         $instruction What was written in it; a long one is cut.
 * @param array|WP_Error $outcome     Of interlock_bridge_ask().
 */
function interlock_bridge_keep_result( string $form, string $instruction, $outcome ): void {
	if ( is_wp_error( $outcome ) ) {
		$about   = (array) $outcome->get_error_data();
		$outcome = array(
			'status'     => 'failed',
			'code'       => (string) $outcome->get_error_code(),
			'message'    => interlock_bridge_error_message( $outcome ),
			'detail'     => $about['detail'] ?? '',
			'request_id' => $about['request_id'] ?? '',
		);
	}
	$outcome['form']        = $form;
	$outcome['instruction'] = interlock_bridge_text( array( $instruction ), '0', INTERLOCK_BRIDGE_MAX_INSTRUCTION );
	set_transient( interlock_bridge_result_name(), $outcome, INTERLOCK_BRIDGE_RESULT_SECONDS );
}
